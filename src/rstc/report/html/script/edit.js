// Corrections, if the page is served by `rstc explore`: the server keeps a log of edits, and the page shows the state that
// the server returns.

const editing = content.editing;

async function request(path, body) {
  const response = await fetch(path, {
    method: body ? "POST" : "GET",
    headers: { "X-Token": editing.token, ...(body ? { "Content-Type": "application/json" } : {}) },
    body: body ? JSON.stringify(body) : undefined,
  });
  const result = await response.json();
  if (!response.ok) throw new Error(result.problem ?? `the server returned status ${response.status}`);
  return result;
}

// Show the state of the server: changed texts as [row, cluster], all clusters and their tree, the number of edits, and the
// proposals.
function showServerState({ rows, clusters, tree, edits, can_apply, proposals }) {
  content.tree = tree;
  state.cluster = Uint32Array.from(points.cluster); // a new array: what was computed from the former one is out of date
  for (const [row, cluster] of rows) state.cluster[row] = cluster ?? NO_CLUSTER;
  state.proposals = proposals;
  state.clusters = new Map(clusters.map((cluster) => [cluster.id, cluster]));
  if (state.selected !== null && state.selected !== NO_CLUSTER && !state.clusters.has(state.selected) && !groupOf(state.selected)) state.selected = null;
  state.edits = edits;
  byId("undo").disabled = edits === 0;
  byId("apply").disabled = !can_apply;
  byId("saved").textContent = edits === 0 ? "no corrections" : `${edits} correction${edits === 1 ? "" : "s"}, saved`;
  notify();
}

// One edit at a time: the next is sent when the server has answered the previous one.
let queue = Promise.resolve();

function sendEdit(edit) {
  byId("saved").textContent = "saving…";
  queue = queue.then(async () => {
    try {
      const before = new Set(state.clusters.keys());
      showServerState(await request("edits", edit));
      if (edit.do === "split") showHalves([edit.cluster, ...[...state.clusters.keys()].filter((id) => !before.has(id))]);
    } catch (error) {
      byId("saved").textContent = `not saved: ${error.message}`;
    }
  });
}

// After a split: the typical texts of both halves.
function showHalves(clusters) {
  const sections = clusters.map((id) => ({ title: `${isolate(clusterName(id))} (${formatTexts(sizeOf(id))})`, rows: state.clusters.get(id).typical }));
  const about = `Split into ${sections.map((section) => section.title).join(" and ")}: typical texts of both`;
  showRows([], about, { sections });
}

const STAGES = { load: "loading the model", encode: "encoding the texts", "fit head": "fitting the model", write: "writing" };

// Apply the corrections to the clusters and the model, and show how far the server is until it is done.
async function applyEdits() {
  try {
    await request("apply", {});
    await followApply();
  } catch (error) {
    showApplied(`not applied: ${error.message}`);
  }
}

async function followApply() {
  byId("apply").disabled = byId("undo").disabled = true;
  byId("apply-progress").hidden = false;
  for (;;) {
    const { status, stage, done, total, message } = await request("apply");
    if (status !== "running") {
      showServerState(await request("edits"));
      return showApplied(status === "failed" ? `not applied: ${message}` : `${message}`);
    }
    const share = total ? Math.round((100 * done) / total) : null;
    byId("applied").textContent = `applying: ${STAGES[stage] ?? stage}${share === null ? "" : ` ${share} %`}`;
    if (share === null) byId("apply-progress").removeAttribute("value");
    else byId("apply-progress").value = share;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

function showApplied(message) {
  byId("apply-progress").hidden = true;
  byId("applied").textContent = message;
}

// A selection of clusters with a button: the selection alone would act at the first arrow key. Its options are created when
// it is first opened, as there may be many selections and many clusters.
function clusterPicker(label, action, onPick, excluded) {
  const picker = element("select", { "aria-label": label, "data-action": action }, element("option", { value: "" }, label + "…"));
  const fill = () => {
    if (picker.options.length > 1) return;
    const ids = [...state.clusters.keys()].filter((id) => id !== excluded).sort((a, b) => clusterName(a).localeCompare(clusterName(b)));
    picker.append(...ids.map((id) => element("option", { value: id }, clusterName(id))));
  };
  for (const event of ["focus", "pointerdown"]) picker.addEventListener(event, fill);
  const act = () => {
    if (picker.value !== "") onPick(Number(picker.value));
    else byId("saved").textContent = "choose a cluster first";
  };
  return [picker, element("button", { type: "button", "data-action": action + "-do", "aria-label": label + " the chosen cluster", onclick: act }, label.split(" ")[0])];
}

function editButton(label, action, edit) {
  return element("button", { type: "button", "data-action": action, onclick: () => sendEdit(edit) }, label);
}

function clusterActions(id) {
  if (id === NO_CLUSTER) return null;
  if (groupOf(id)) return element("p", { class: "meta" }, "This is a group for display: show all clusters to correct them.");
  const name = element("input", { value: clusterName(id), dir: "auto", "aria-label": "Name", maxlength: 200, "data-action": "name" });
  const rename = (event) => { event.preventDefault(); sendEdit({ do: "rename", cluster: id, name: name.value }); };
  return element("div", { class: "actions" },
    element("form", { onsubmit: rename }, name, " ", element("button", { type: "submit", "data-action": "rename" }, "Rename")),
    element("div", {}, ...clusterPicker("Merge into", "merge", (other) => sendEdit({ do: "merge", cluster: id, into: other }), id)),
    editButton("Split in two", "split", { do: "split", cluster: id }));
}

function textActions(row) {
  return element("div", { class: "actions" },
    ...clusterPicker("Move to", "move", (other) => sendEdit({ do: "move", rows: [row], into: other }), state.cluster[row]),
    state.cluster[row] === NO_CLUSTER ? null : editButton("Noise", "noise", { do: "noise", rows: [row] }));
}

function rowsActions(rows) {
  return element("div", { class: "actions" },
    ...clusterPicker("Move all to", "move-all", (other) => sendEdit({ do: "move", rows, into: other })),
    editButton("All noise", "noise-all", { do: "noise", rows }));
}

function startEditing() {
  if (!editing) return;
  byId("edit-bar").hidden = false;
  byId("undo").addEventListener("click", () => sendEdit({ do: "undo" }));
  byId("apply").addEventListener("click", applyEdits);
  const showProblem = (error) => { byId("saved").textContent = error.message; };
  request("edits").then(showServerState).then(() => request("apply")).then(({ status }) => (status === "running" ? followApply() : null)).catch(showProblem);
}
