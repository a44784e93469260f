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

// Show the state of the server: changed texts as [row, cluster], all clusters, and the number of edits.
function showServerState({ rows, clusters, edits, proposals }) {
  state.cluster.set(points.cluster);
  for (const [row, cluster] of rows) state.cluster[row] = cluster ?? NO_CLUSTER;
  state.proposals = proposals;
  state.clusters = new Map(clusters.map((cluster) => [cluster.id, cluster]));
  if (state.selected !== null && state.selected !== NO_CLUSTER && !state.clusters.has(state.selected)) state.selected = null;
  byId("undo").disabled = edits === 0;
  byId("saved").textContent = edits === 0 ? "no corrections" : `${edits} correction${edits === 1 ? "" : "s"}, saved`;
  notify();
}

// One edit at a time: the next is sent when the server has answered the previous one.
let queue = Promise.resolve();

function sendEdit(edit) {
  byId("saved").textContent = "saving…";
  queue = queue.then(async () => {
    try {
      showServerState(await request("edits", edit));
    } catch (error) {
      byId("saved").textContent = `not saved: ${error.message}`;
    }
  });
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
  const name = element("input", { value: clusterName(id), "aria-label": "Name", maxlength: 200, "data-action": "name" });
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
  request("edits").then(showServerState, (error) => { byId("saved").textContent = error.message; });
}
