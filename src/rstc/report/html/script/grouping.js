// Grouping of the clusters for display: the tree of the clusters cut at some number of groups, or a level of content.levels.
// The clusters themselves stay as they are; a group of one cluster is that cluster.
//
// What other parts of the page may use:
//   shownCluster(id)     the group that a cluster is shown in, or the cluster itself; a group has a number of its own
//   shownClusters()      the same for each text: Uint32Array (N), equal to state.cluster if there is no grouping
//   shownIndex()         { ids, ofRow }: the distinct numbers of shownClusters(), and for each text its place among them
//   groupOf(id)          the group with this number, or undefined: { id, name, clusters, largest, part, rows or null }
//   groupColour(group)   the colour of a group: that of its largest cluster, in a shade of its own for a part of a cluster
//   setGrouping(how)     { n } cuts the tree into n groups, { level } is the name of a level, null shows all clusters
//   groupMembers(id)     for the detail view: a list of the clusters in a group, null if it is no group
//   groupingControl()    a slider and the buttons of the levels, which can be placed anywhere on the page
// After a change all subscribers are notified (subscribe in state.js). clusterName, colourOf, rowsOf and select know groups.

const FIRST_GROUP = 1000000000; // above all cluster numbers
state.grouping = null; // { how, n, groups: Map from number to group, ofCluster: Map, ofRow: Uint32Array or null }

// The merges of the tree that hold for the present clusters, nearest first, as [a, b, distance].
function presentMerges() {
  return content.tree.filter(([a, b]) => state.clusters.has(a) && state.clusters.has(b));
}

// Cut the tree: lists of clusters, which are as many as were asked for if the tree holds all clusters.
function cutTree(n) {
  const parts = new Map([...state.clusters.keys()].map((id) => [id, [id]]));
  let left = parts.size;
  for (const [a, b] of presentMerges()) {
    if (left <= n) break;
    const [first, second] = [parts.get(a), parts.get(b)];
    if (first === second) continue;
    first.push(...second);
    for (const id of second) parts.set(id, first);
    left--;
  }
  return [...new Set(parts.values())];
}

// The smallest number of groups: clusters that were split off are not in the tree and stay by themselves.
function fewestGroups() {
  return Math.max(1, state.clusters.size - presentMerges().length);
}

const sizeOf = (id) => state.clusters.get(id)?.size ?? 0;
const bySize = (a, b) => sizeOf(b) - sizeOf(a) || a - b;

function nameGroup(clusters) {
  const key = [...clusters].sort((a, b) => a - b).join();
  for (const level of content.levels ?? []) {
    const same = level.groups.find((group) => !group.rows && [...group.clusters].sort((a, b) => a - b).join() === key);
    if (same) return same.name;
  }
  const largest = [...clusters].sort(bySize)[0];
  return `${isolate(state.clusters.get(largest).name)} and ${clusters.length - 1} more`;
}

function makeGrouping(how) {
  const level = how.level && (content.levels ?? []).find((one) => one.name === how.level);
  if (how.level && !level) return null;
  const groups = new Map(), ofCluster = new Map();
  const add = (group) => groups.set(FIRST_GROUP + groups.size, { id: FIRST_GROUP + groups.size, rows: null, ...group });
  const coarse = level ? level.groups.filter((group) => !group.rows).map((group) => group.clusters.filter((id) => state.clusters.has(id))) : cutTree(how.n);
  for (const clusters of coarse.filter((list) => list.length > 1)) {
    add({ name: nameGroup(clusters), clusters, largest: [...clusters].sort(bySize)[0], part: 0 });
    for (const id of clusters) ofCluster.set(id, FIRST_GROUP + groups.size - 1);
  }
  let ofRow = null;
  const parts = level ? level.groups.filter((group) => group.rows && state.clusters.has(group.clusters[0])) : [];
  if (parts.length) {
    ofRow = Uint32Array.from(state.cluster, (id) => ofCluster.get(id) ?? id);
    const nParts = new Map(); // of each cluster so far
    for (const part of parts) {
      const [cluster] = part.clusters, rows = part.rows.filter((row) => state.cluster[row] === cluster);
      if (!rows.length || rows.length === sizeOf(cluster)) continue;
      add({ name: part.name, clusters: [cluster], rows, largest: cluster, part: nParts.get(cluster) ?? 0 });
      nParts.set(cluster, (nParts.get(cluster) ?? 0) + 1);
      for (const row of rows) ofRow[row] = FIRST_GROUP + groups.size - 1;
    }
  }
  if (!groups.size) return null;
  const n = state.clusters.size - ofCluster.size + new Set(ofCluster.values()).size;
  return { how, n: ofRow ? new Set(ofRow).size : n, groups, ofCluster, ofRow };
}

function setGrouping(how) {
  state.grouping = how && makeGrouping(how);
  clusterLists = null;
  if (state.selected !== null) {
    const selected = groupOf(state.selected) ? null : shownCluster(state.selected);
    state.selected = selected !== null && !isPartitioned(selected) ? selected : null;
  }
  notify();
}

function isPartitioned(id) {
  return Boolean(state.grouping?.ofRow) && [...state.grouping.groups.values()].some((group) => group.rows && group.clusters[0] === id);
}

function groupOf(id) {
  return state.grouping?.groups.get(id);
}

function shownCluster(id) {
  return state.grouping?.ofCluster.get(id) ?? id;
}

function groupMembers(id) {
  const group = groupOf(id);
  if (!group || group.rows) return null;
  return element("ul", { class: "members", "aria-label": "Clusters of this group" }, ...[...group.clusters].sort(bySize).map((member) => element("li", {}, `${isolate(clusterName(member))} (${formatCount(sizeOf(member))})`)));
}

const PART_SHADES = [0, -0.4, 0.45, -0.2, 0.25, -0.55, 0.6]; // negative: towards black, positive: towards white

function groupColour({ largest, part }) {
  const shade = PART_SHADES[part % PART_SHADES.length];
  return colourOf(largest).map((channel) => Math.round(shade < 0 ? channel * (1 + shade) : channel + (255 - channel) * shade));
}

let clusterLists = null; // of all texts, until the clusters or their grouping change
let groupedClusters = state.clusters; // the clusters that the grouping was made for

function listClusters() {
  if (clusterLists) return clusterLists;
  const { grouping } = state;
  const shown = grouping ? grouping.ofRow ?? Uint32Array.from(state.cluster, shownCluster) : state.cluster;
  const ids = [...new Set(shown)], places = new Map(ids.map((id, i) => [id, i]));
  return (clusterLists = { shown, index: { ids, ofRow: Uint32Array.from(shown, (id) => places.get(id)) } });
}

const shownClusters = () => listClusters().shown;
const shownIndex = () => listClusters().index;

// After a correction the same grouping is made of the new clusters. This is the first subscriber, before those that draw.
subscribe(() => {
  if (groupedClusters === state.clusters) return;
  groupedClusters = state.clusters;
  clusterLists = null;
  if (!state.grouping) return;
  state.grouping = makeGrouping(state.grouping.how);
  if (state.selected !== null && !groupOf(state.selected)) state.selected = state.selected >= FIRST_GROUP ? null : shownCluster(state.selected);
});

// A slider from one group to all clusters, and the levels by name. The element is updated in place, so that it keeps the
// focus and can be dragged.
function groupingControl() {
  const slider = element("input", { type: "range", step: 1, "aria-label": "Number of clusters shown", oninput: () => setGrouping(Number(slider.value) < state.clusters.size ? { n: Number(slider.value) } : null) });
  const value = element("output", {}), buttons = element("span", { class: "levels" });
  for (const level of content.levels ?? []) {
    const title = `${formatCount(level.n_clusters)} clusters${level.is_chosen ? ", as the run was made" : ""}`;
    const choose = () => setGrouping(level.is_chosen ? null : { level: level.name });
    buttons.append(element("button", { type: "button", "data-level": level.name, title, onclick: choose }, `${level.name} (${formatCount(level.n_clusters)})`));
  }
  const control = element("div", { class: "grouping" }, element("label", {}, "Clusters shown ", slider), value, buttons);
  const update = () => {
    const n = state.clusters.size, shown = state.grouping?.n ?? n;
    slider.min = fewestGroups();
    slider.max = n;
    slider.value = Math.min(shown, n);
    const text = shown === n ? `all ${formatCount(n)}` : shown > n ? `${formatCount(shown)} parts of ${formatCount(n)}` : `${formatCount(shown)} of ${formatCount(n)}`;
    value.textContent = text;
    slider.setAttribute("aria-valuetext", text);
    for (const button of buttons.children) {
      const level = content.levels.find((one) => one.name === button.dataset.level);
      const isActive = level.is_chosen ? !state.grouping : state.grouping?.how.level === level.name || (!state.grouping?.how.level && level.n_clusters === shown && shown < n);
      button.setAttribute("aria-pressed", String(isActive));
    }
    control.hidden = n < 3 || (!presentMerges().length && !buttons.children.length);
  };
  subscribe(update);
  update();
  return control;
}

function startGrouping() {
  byId("grouping").append(groupingControl());
}
