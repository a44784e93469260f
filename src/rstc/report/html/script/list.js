// The clusters in a list that mouse and keyboard move through.

function sizes() {
  const found = new Map([...state.clusters.keys()].map((id) => [id, 0]));
  for (let row = 0; row < N; row++) found.set(state.cluster[row], (found.get(state.cluster[row]) ?? 0) + 1);
  return found;
}

function drawList() {
  const found = sizes(), order = byId("order").value, sure = order === "confidence" ? confidences() : null;
  const ids = [...found.keys()].filter((id) => found.get(id) > 0);
  const by = {
    size: (a, b) => found.get(b) - found.get(a) || a - b,
    name: (a, b) => nameOf(a).localeCompare(nameOf(b)),
    confidence: (a, b) => (sure.get(a) ?? 2) - (sure.get(b) ?? 2),
  }[order];
  byId("facts").textContent = `${count(N)} texts in ${count(ids.filter((id) => id !== NONE).length)} clusters · ${content.facts}`;
  const items = ids.sort(by).map((id) =>
    element("li", { role: "option", id: "cluster-" + id, "data-id": id, "aria-selected": String(id === state.selected), onclick: () => { select(id === state.selected ? null : id); goToTexts(); } },
      dot(id), element("span", { class: "name" }, nameOf(id)), element("span", { class: "count" }, count(found.get(id)))));
  const list = byId("clusters");
  list.replaceChildren(...items);
  const current = list.querySelector('[aria-selected="true"]');
  if (current) list.setAttribute("aria-activedescendant", current.id);
  else list.removeAttribute("aria-activedescendant");
}

// The mean confidence of each cluster, 0 to 1; clusters of corrected texts only have none.
function confidences() {
  const totals = new Map();
  for (let row = 0; row < N; row++) {
    const sure = sureness(row);
    if (sure === null) continue;
    const [total, number] = totals.get(state.cluster[row]) ?? [0, 0];
    totals.set(state.cluster[row], [total + sure, number + 1]);
  }
  return new Map([...totals].map(([cluster, [total, number]]) => [cluster, total / number / 100]));
}

function startList() {
  byId("order").addEventListener("change", drawList);
  byId("clusters").addEventListener("keydown", (event) => {
    const items = [...byId("clusters").children], at = items.findIndex((one) => one.getAttribute("aria-selected") === "true");
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (event.key === "Escape") return select(null);
    if (to === undefined || !items.length) return;
    event.preventDefault();
    const next = items[Math.min(items.length - 1, Math.max(0, to))];
    select(Number(next.dataset.id));
    byId("cluster-" + next.dataset.id).scrollIntoView({ block: "nearest" });
  });
  listen(drawList);
  drawList();
}
