// What is on the page now: the clusters as corrected, what is selected, what was searched for. Whoever shows any of it
// listens; whoever changes it tells.

const state = {
  cluster: Uint32Array.from(points.cluster),
  clusters: new Map(content.clusters.map((one) => [one.id, { ...one }])),
  selected: null, // a cluster
  rows: null, // texts that were drawn around or searched for
  about: "", // what these texts are
  query: "",
};

const listeners = [];

function listen(listener) {
  listeners.push(listener);
}

function tell() {
  for (const listener of listeners) listener();
}

function nameOf(cluster) {
  return cluster === NONE ? "noise" : state.clusters.get(cluster)?.name ?? `cluster ${cluster}`;
}

// How sure the model is of a text, in hundredths; null where somebody put the text elsewhere.
function sureness(row) {
  const asFound = points.confidence[row] !== UNKNOWN && state.cluster[row] === points.cluster[row];
  return asFound ? points.confidence[row] : null;
}

function rowsOf(cluster) {
  const rows = [];
  for (let row = 0; row < N; row++) if (state.cluster[row] === cluster) rows.push(row);
  return rows;
}

function select(cluster) {
  Object.assign(state, { selected: cluster, rows: null, query: "" });
  byId("search").value = byId("hits").textContent = "";
  tell();
}

function showRows(rows, about) {
  Object.assign(state, { selected: null, rows, about });
  tell();
}

// On a phone the texts stand below the list and the map: whoever chose some wants to see them.
function goToTexts() {
  if (window.matchMedia("(max-width: 60rem)").matches) byId("detail").scrollIntoView();
}

// What the list on the right shows, and what "the texts shown" means to the export.
function shownRows() {
  if (state.rows) return state.rows;
  return state.selected === null ? [] : rowsOf(state.selected);
}
