// The state of the page: the clusters with their corrections, the selection and the search. Parts of the page subscribe to
// changes and are notified of them.

const state = {
  cluster: Uint32Array.from(points.cluster),
  clusters: new Map(content.clusters.map((cluster) => [cluster.id, { ...cluster }])),
  proposals: content.proposals ?? [], // new clusters that an update proposed
  selected: null, // the number of a cluster
  rows: null, // texts from the lasso, the search or a click
  about: "", // the heading of these texts
  query: "",
  edits: 0, // the number of corrections in an editing session
};

const listeners = [];

function subscribe(listener) {
  listeners.push(listener);
}

function notify() {
  for (const listener of listeners) listener();
}

function clusterName(cluster) {
  return cluster === NO_CLUSTER ? "noise" : (groupOf(cluster) ?? state.clusters.get(cluster))?.name ?? `cluster ${cluster}`;
}

// The confidence of a text in percent, null if it was corrected.
function confidenceOf(row) {
  const unchanged = points.confidence[row] !== NO_CONFIDENCE && state.cluster[row] === points.cluster[row];
  return unchanged ? points.confidence[row] : null;
}

// The level of a confidence in percent, as in the column confidence_level.
function confidenceLevel(percent) {
  const [medium, high] = content.confidence_levels;
  return percent >= 100 * high ? "high" : percent >= 100 * medium ? "medium" : "low";
}

function rowsOf(cluster) {
  const rows = [], shown = groupOf(cluster) ? shownClusters() : state.cluster;
  for (let row = 0; row < N; row++) if (shown[row] === cluster) rows.push(row);
  return rows;
}

function select(cluster) {
  Object.assign(state, { selected: cluster, rows: null, query: "" });
  byId("search").value = byId("hits").textContent = "";
  notify();
}

function showRows(rows, about) {
  Object.assign(state, { selected: null, rows, about });
  notify();
}

// On a narrow screen the texts are below the list and the map: scroll to them.
function scrollToTexts() {
  if (window.matchMedia("(max-width: 60rem)").matches) byId("detail").scrollIntoView();
}

// The texts of the detail view, which "the texts shown" of the export means.
function rowsInDetail() {
  if (state.rows) return state.rows;
  return state.selected === null ? [] : rowsOf(state.selected);
}
