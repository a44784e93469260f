// Corrections, where the page is served by `rstc explore`: each is an entry of a log that the server keeps. What the page
// shows is what the server says comes of the log.

const editing = content.editing;

async function ask(path, body) {
  const answer = await fetch(path, {
    method: body ? "POST" : "GET",
    headers: { "X-Token": editing.token, ...(body ? { "Content-Type": "application/json" } : {}) },
    body: body ? JSON.stringify(body) : undefined,
  });
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.problem ?? `the server said ${answer.status}`);
  return said;
}

// Take over what the server says: changed rows as [row, cluster], and all clusters.
function takeOver({ rows, clusters, edits }) {
  state.cluster.set(points.cluster);
  for (const [row, cluster] of rows) state.cluster[row] = cluster ?? NONE;
  state.clusters = new Map(clusters.map((one) => [one.id, one]));
  if (state.selected !== null && state.selected !== NONE && !state.clusters.has(state.selected)) state.selected = null;
  byId("undo").disabled = edits === 0;
  byId("saved").textContent = edits === 0 ? "no corrections" : `${edits} correction${edits === 1 ? "" : "s"}, saved`;
  tell();
}

// One correction at a time: the next is sent when the server has answered the one before.
let queue = Promise.resolve();

function correct(edit) {
  byId("saved").textContent = "saving…";
  queue = queue.then(async () => {
    try {
      takeOver(await ask("edits", edit));
    } catch (problem) {
      byId("saved").textContent = `not saved: ${problem.message}`;
    }
  });
}

// A choice of clusters with a button that acts on it: a choice alone would act at the first press of an arrow key. Its
// options are made when it is first looked at: there may be many such choices and many clusters.
function clusterPicker(label, action, done, except) {
  const picker = element("select", { "aria-label": label, "data-action": action }, element("option", { value: "" }, label + "…"));
  const fill = () => {
    if (picker.options.length > 1) return;
    const ids = [...state.clusters.keys()].filter((id) => id !== except).sort((a, b) => nameOf(a).localeCompare(nameOf(b)));
    picker.append(...ids.map((id) => element("option", { value: id }, nameOf(id))));
  };
  for (const event of ["focus", "pointerdown"]) picker.addEventListener(event, fill);
  const act = () => {
    if (picker.value !== "") done(Number(picker.value));
    else byId("saved").textContent = "choose a cluster first";
  };
  return [picker, element("button", { type: "button", "data-action": action + "-do", "aria-label": label + " the chosen cluster", onclick: act }, label.split(" ")[0])];
}

function button(label, action, edit) {
  return element("button", { type: "button", "data-action": action, onclick: () => correct(edit) }, label);
}

function clusterActions(id) {
  if (id === NONE) return null;
  const name = element("input", { value: nameOf(id), "aria-label": "Name", maxlength: 200, "data-action": "name" });
  const rename = (event) => { event.preventDefault(); correct({ do: "rename", cluster: id, name: name.value }); };
  return element("div", { class: "actions" },
    element("form", { onsubmit: rename }, name, " ", element("button", { type: "submit", "data-action": "rename" }, "Rename")),
    element("div", {}, ...clusterPicker("Merge into", "merge", (other) => correct({ do: "merge", cluster: id, into: other }), id)),
    button("Split in two", "split", { do: "split", cluster: id }));
}

function textActions(row) {
  return element("div", { class: "actions" },
    ...clusterPicker("Move to", "move", (other) => correct({ do: "move", rows: [row], into: other }), state.cluster[row]),
    state.cluster[row] === NONE ? null : button("Noise", "noise", { do: "noise", rows: [row] }));
}

function rowsActions(rows) {
  return element("div", { class: "actions" },
    ...clusterPicker("Move all to", "move-all", (other) => correct({ do: "move", rows, into: other })),
    button("All noise", "noise-all", { do: "noise", rows }));
}

function startEditing() {
  if (!editing) return;
  byId("edit-bar").hidden = false;
  byId("undo").addEventListener("click", () => correct({ do: "undo" }));
  ask("edits").then(takeOver, (problem) => { byId("saved").textContent = problem.message; });
}
