// The list of clusters, for mouse and keyboard.

function drawList() {
  const sizes = clusterSizes(), shown = state.passing ? clusterSizes(true) : sizes, order = byId("order").value, confidence = order === "confidence" ? meanConfidences() : null;
  const ids = [...sizes.keys()].filter((id) => sizes.get(id) > 0);
  const compare = {
    size: (a, b) => shown.get(b) - shown.get(a) || sizes.get(b) - sizes.get(a) || a - b,
    name: (a, b) => clusterName(a).localeCompare(clusterName(b)),
    confidence: (a, b) => (confidence.get(a) ?? 2) - (confidence.get(b) ?? 2),
    stability: (a, b) => stabilityOf(a) - stabilityOf(b) || a - b,
  }[order];
  byId("facts").textContent = `${formatCount(N)} texts in ${formatCount([...new Set(state.cluster)].filter((id) => id !== NO_CLUSTER).length)} clusters · ${content.facts}`;
  const largest = Math.max(1, ...shown.values());
  const items = ids.sort(compare).map((id) => {
    const bar = element("span", { class: "bar-fill", "aria-hidden": "true" }), count = shown.get(id) ?? 0;
    Object.assign(bar.style, { width: (100 * count) / largest + "%", background: toCss(colourOf(id), 0.55) });
    return element("li", { role: "option", id: "cluster-" + id, "data-id": id, "aria-selected": String(id === state.selected), class: count ? null : "empty", onclick: () => { select(id === state.selected ? null : id); scrollToTexts(); } },
      colourDot(id), element("span", { class: "name" }, clusterName(id)), stabilityMark(id),
      element("span", { class: "count", title: state.passing ? `of ${formatTexts(sizes.get(id))}` : null }, formatCount(count)), bar);
  });
  const list = byId("clusters");
  list.replaceChildren(...items);
  const current = list.querySelector('[aria-selected="true"]');
  if (current) list.setAttribute("aria-activedescendant", current.id);
  else list.removeAttribute("aria-activedescendant");
}

// How often a cluster is found again when the analysis is repeated, from 0 to 1; 2 if that is not known.
function stabilityOf(id) {
  const reliability = state.clusters.get(id)?.reliability;
  return reliability ? reliability.n_found / reliability.n_repeats : 2;
}

const STABILITY_MARKS = { stable: "●", unsure: "◐", unstable: "○" };

function stabilityMark(id) {
  const reliability = state.clusters.get(id)?.reliability;
  if (!reliability) return null;
  const label = `${reliability.level}: ${isolateQuotes(reliability.sentence)}`;
  return element("span", { class: "mark", "data-level": reliability.level, title: label, role: "img", "aria-label": label }, STABILITY_MARKS[reliability.level]);
}

// A warning stands above all tabs; what the overview says otherwise does not.
function showReliability() {
  if (!content.reliability?.warning) return;
  byId("reliability").textContent = content.reliability.sentence;
  byId("reliability").hidden = false;
}

// The mean confidence of each cluster from 0 to 1, by default of the groups that clusters are shown in; a cluster of
// corrected texts only has none.
function meanConfidences(grouped = true) {
  const totals = new Map(), shown = grouped ? shownClusters() : state.cluster;
  for (let row = 0; row < N; row++) {
    const confidence = confidenceOf(row);
    if (confidence === null) continue;
    const [total, n] = totals.get(shown[row]) ?? [0, 0];
    totals.set(shown[row], [total + confidence, n + 1]);
  }
  return new Map([...totals].map(([cluster, [total, n]]) => [cluster, total / n / 100]));
}

function startList() {
  byId("order").addEventListener("change", drawList);
  byId("clusters").addEventListener("keydown", (event) => {
    const items = [...byId("clusters").children], current = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
    const target = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: items.length - 1 }[event.key];
    if (target === undefined || !items.length) return;
    event.preventDefault();
    const next = items[Math.min(items.length - 1, Math.max(0, target))];
    select(Number(next.dataset.id));
    byId("cluster-" + next.dataset.id).scrollIntoView({ block: "nearest" });
  });
  subscribe(drawList);
  showReliability();
  drawList();
}
