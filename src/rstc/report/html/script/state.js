// The state of the page: the clusters with their corrections, the selection, the search and the filters. Parts of the
// page subscribe to changes and are notified of them.

const state = {
  cluster: Uint32Array.from(points.cluster),
  clusters: new Map(content.clusters.map((cluster) => [cluster.id, { ...cluster }])),
  proposals: content.proposals ?? [], // new clusters that an update proposed
  selected: null, // the number of a cluster
  rows: null, // texts from the lasso, the search or a click
  sections: null, // headings of parts of these texts: [{ title, rows }]
  about: "", // the heading of these texts
  terms: [], // what was searched, to be marked in the texts
  filters: new Map(), // from the number of a column to a filter of filters.js
  passing: null, // Uint8Array, whether each text passes the filters; null without filters
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

const passes = (row) => state.passing === null || state.passing[row] === 1;

// The texts that fulfil a condition and pass the filters.
function findRows(condition) {
  const rows = [];
  for (let row = 0; row < N; row++) if (passes(row) && condition(row)) rows.push(row);
  return rows;
}

// The texts of a cluster or a group of clusters.
function rowsOf(cluster) {
  const rows = [], shown = groupOf(cluster) ? shownClusters() : state.cluster;
  for (let row = 0; row < N; row++) if (shown[row] === cluster) rows.push(row);
  return rows;
}

const passingRowsOf = (cluster) => rowsOf(cluster).filter(passes);

// The number of texts of each cluster, or of those that pass the filters; by default of the groups that clusters are shown in.
function clusterSizes(filtered = false, grouped = true) {
  const sizes = new Map([...state.clusters.keys()].map((id) => [grouped ? shownCluster(id) : id, 0]));
  const clusters = grouped ? shownClusters() : state.cluster;
  for (let row = 0; row < N; row++) {
    if (!filtered || passes(row)) sizes.set(clusters[row], (sizes.get(clusters[row]) ?? 0) + 1);
  }
  return sizes;
}

function select(cluster) {
  Object.assign(state, { selected: cluster, rows: null, sections: null, terms: [] });
  byId("search").value = byId("hits").textContent = "";
  notify();
}

function showRows(rows, about, more = {}) {
  Object.assign(state, { selected: null, rows, sections: null, terms: [], about }, more);
  notify();
}

// On a narrow screen the texts are below the list and the map: scroll to them.
function scrollToTexts() {
  if (window.matchMedia("(max-width: 60rem)").matches) byId("detail").scrollIntoView();
}

// The texts of the detail view, which "the texts shown" of the export means.
function rowsInDetail() {
  if (state.rows) return state.rows.filter(passes);
  return state.selected === null ? [] : passingRowsOf(state.selected);
}
