// Sizes, training curves, the table of truth and the settings: drawn when their tab is opened.

function sizesPanel() {
  const rows = [...state.clusters.values()].sort((a, b) => b.size - a.size);
  const most = Math.max(...rows.map((one) => Math.max(one.share, one.estimated_share)), 1e-9);
  const bar = 18, wide = 420, names = 230;
  const svg = drawing("svg", { viewBox: `0 0 ${names + wide + 70} ${rows.length * (bar + 8) + 10}`, width: names + wide + 70, role: "img", "aria-label": "Share of each cluster: " + rows.map((one) => `${one.name} ${percent(one.share)}`).join(", ") });
  rows.forEach((one, i) => {
    const y = i * (bar + 8) + 5, name = one.name.length > 32 ? one.name.slice(0, 31) + "…" : one.name;
    svg.append(
      drawing("text", { x: names - 8, y: y + 13, "text-anchor": "end" }, name),
      drawing("rect", { x: names, y, width: Math.max(1, (one.share / most) * wide), height: bar, fill: css(colourOf(one.id)) }),
      drawing("text", { x: names + wide + 8, y: y + 13 }, percent(one.share)));
    if (one.estimated_share === null) return;
    const x = names + (one.estimated_share / most) * wide;
    svg.append(drawing("line", { x1: x, x2: x, y1: y - 3, y2: y + bar + 3, stroke: "currentColor", "stroke-width": 2 }));
  });
  return [element("h2", {}, "How large the clusters are"), element("figure", {}, element("figcaption", {}, "Bars: the share of texts, as counted. Lines: the share that the transport estimated (b), where corrections have not made another cluster of it."), svg)];
}

function curve(title, entries, name, format) {
  const seen = entries.filter((entry) => entry[name] !== null && entry[name] !== undefined);
  if (!seen.length) return null;
  const wide = 360, high = 150, left = 52, bottom = 24;
  const steps = seen.map((entry) => entry.step), values = seen.map((entry) => entry[name]);
  const [s0, s1] = [Math.min(...steps), Math.max(...steps)], [v0, v1] = [Math.min(...values, 0), Math.max(...values, 1e-9)];
  const x = (step) => left + ((step - s0) / Math.max(s1 - s0, 1)) * (wide - left - 10), y = (value) => high - bottom - ((value - v0) / (v1 - v0)) * (high - bottom - 12);
  const svg = drawing("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, role: "img", "aria-label": title });
  svg.append(
    drawing("line", { x1: left, x2: wide - 10, y1: high - bottom, y2: high - bottom, stroke: "currentColor", opacity: 0.4 }),
    drawing("text", { x: left - 6, y: y(v1) + 4, "text-anchor": "end" }, format(v1)),
    drawing("text", { x: left - 6, y: y(v0) + 4, "text-anchor": "end" }, format(v0)),
    drawing("text", { x: left, y: high - 6 }, `step ${count(s0)}`),
    drawing("text", { x: wide - 10, y: high - 6, "text-anchor": "end" }, count(s1)),
    drawing("polyline", { points: seen.map((entry) => `${x(entry.step)},${y(entry[name])}`).join(" "), fill: "none", stroke: css(rgb(HUES[0])), "stroke-width": 2 }),
    ...(seen.length > 40 ? [] : seen).map((entry) => drawing("circle", { cx: x(entry.step), cy: y(entry[name]), r: 3, fill: css(rgb(HUES[0])) })));
  return element("figure", {}, element("figcaption", {}, title), svg);
}

function trainingPanel() {
  const losses = content.losses.map(([loss_class, loss_instance], i) => ({ step: i + 1, loss_class, loss_instance }));
  const entries = content.history, plain = (value) => value.toFixed(2), whole = (value) => String(Math.round(value));
  return [
    element("h2", {}, "How it was trained"),
    element("p", {}, `${count(content.steps)} steps${content.settled ? ", until the clusters settled" : ""}.`),
    curve("The class-wise loss", losses, "loss_class", plain),
    curve("The instance-wise loss", losses, "loss_instance", plain),
    element("h3", {}, "At each renewal of the labels"),
    curve("How many clusters were predicted", entries, "clusters", whole),
    curve("The share of texts that changed their cluster", entries, "moved", percent),
    curve("Mean confidence", entries, "confidence", percent),
  ].filter(Boolean);
}

function truthPanel() {
  const { acc, nmi, ari, classes, clusters, matrix, column } = content.truth;
  const most = matrix.reduce((sofar, row) => row.reduce((a, b) => Math.max(a, b), sofar), 1);
  const head = element("tr", {}, element("th", {}, column), ...clusters.map((id) => element("th", { class: "number", title: nameOf(id) }, String(id))));
  const rows = classes.map((name, i) => element("tr", {}, element("th", {}, name), ...matrix[i].map((value) => {
    const cell = element("td", {}, value ? count(value) : "");
    cell.style.background = value ? css(rgb(HUES[0]), 0.08 + (0.5 * value) / most) : "";
    return cell;
  })));
  return [
    element("h2", {}, "Against the truth"),
    element("p", {}, `ACC ${percent(acc)}, NMI ${percent(nmi)}, ARI ${percent(ari)}, for the clusters as they were found.`),
    element("p", { class: "meta" }, "Rows are classes, columns clusters; each class stands before the cluster that matches it best."),
    element("table", { class: "matrix" }, element("thead", {}, head), element("tbody", {}, ...rows)),
  ];
}

function settingsPanel() {
  const table = (facts) => element("table", {}, element("tbody", {}, ...Object.entries(facts).map(([name, value]) =>
    element("tr", {}, element("th", {}, name), element("td", {}, typeof value === "object" ? JSON.stringify(value) : String(value))))));
  return [
    element("h2", {}, "The run"), table(content.run),
    element("h3", {}, "Settings"), table(content.settings),
    element("h3", {}, "Versions"), table(content.versions),
  ];
}

const PANELS = { map: null, sizes: sizesPanel, count: countPanel, training: trainingPanel, truth: truthPanel, settings: settingsPanel };

function openTab(name) {
  for (const one of Object.keys(PANELS)) {
    const tab = byId("tab-" + one);
    tab.setAttribute("aria-selected", String(one === name));
    tab.tabIndex = one === name ? 0 : -1;
    byId("panel-" + one).hidden = one !== name;
  }
  openPanel = name;
  drawPanel();
}

let openPanel = "map";

function drawPanel() {
  if (PANELS[openPanel]) byId("panel-" + openPanel).replaceChildren(...PANELS[openPanel]());
  else redraw();
}

function startTabs() {
  listen(drawPanel);
  byId("tab-truth").hidden = !content.truth;
  byId("tab-count").hidden = !content.count && !content.tree.length;
  const tabs = Object.keys(PANELS).filter((name) => !byId("tab-" + name).hidden);
  for (const [i, name] of tabs.entries()) {
    byId("tab-" + name).addEventListener("click", () => openTab(name));
    byId("tab-" + name).addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      const next = tabs[(i + by + tabs.length) % tabs.length];
      openTab(next);
      byId("tab-" + next).focus();
    });
  }
}
