// Sizes, training curves, confusion matrix and settings, drawn when their tab is opened.

function sizesPanel() {
  const rows = [...state.clusters.values()].sort((a, b) => b.size - a.size);
  const largest = Math.max(...rows.map((cluster) => Math.max(cluster.share, cluster.estimated_share)), 1e-9);
  const bar = 18, width = 420, names = 230;
  const svg = svgElement("svg", { viewBox: `0 0 ${names + width + 70} ${rows.length * (bar + 8) + 10}`, width: names + width + 70, role: "img", "aria-label": "Share of each cluster: " + rows.map((cluster) => `${cluster.name} ${formatPercent(cluster.share)}`).join(", ") });
  rows.forEach((cluster, i) => {
    const y = i * (bar + 8) + 5, name = cluster.name.length > 32 ? cluster.name.slice(0, 31) + "…" : cluster.name;
    svg.append(
      svgElement("text", { x: names - 8, y: y + 13, "text-anchor": "end" }, name),
      svgElement("rect", { x: names, y, width: Math.max(1, (cluster.share / largest) * width), height: bar, fill: toCss(colourOf(cluster.id)) }),
      svgElement("text", { x: names + width + 8, y: y + 13 }, formatPercent(cluster.share)));
    if (cluster.estimated_share === null) return;
    const x = names + (cluster.estimated_share / largest) * width;
    svg.append(svgElement("line", { x1: x, x2: x, y1: y - 3, y2: y + bar + 3, stroke: "currentColor", "stroke-width": 2 }));
  });
  return [element("h2", {}, "Cluster sizes"), element("figure", {}, element("figcaption", {}, "Bars: the share of texts, as counted. Lines: the share that the optimal transport estimated (b), except for clusters that corrections changed."), svg)];
}

function curveFigure(title, entries, name, format) {
  const shown = entries.filter((entry) => entry[name] !== null && entry[name] !== undefined);
  if (!shown.length) return null;
  const width = 360, height = 150, left = 52, bottom = 24;
  const steps = shown.map((entry) => entry.step), values = shown.map((entry) => entry[name]);
  const [s0, s1] = [Math.min(...steps), Math.max(...steps)], [v0, v1] = [Math.min(...values, 0), Math.max(...values, 1e-9)];
  const x = (step) => left + ((step - s0) / Math.max(s1 - s0, 1)) * (width - left - 10), y = (value) => height - bottom - ((value - v0) / (v1 - v0)) * (height - bottom - 12);
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, width: width, role: "img", "aria-label": title });
  svg.append(
    svgElement("line", { x1: left, x2: width - 10, y1: height - bottom, y2: height - bottom, stroke: "currentColor", opacity: 0.4 }),
    svgElement("text", { x: left - 6, y: y(v1) + 4, "text-anchor": "end" }, format(v1)),
    svgElement("text", { x: left - 6, y: y(v0) + 4, "text-anchor": "end" }, format(v0)),
    svgElement("text", { x: left, y: height - 6 }, `step ${formatCount(s0)}`),
    svgElement("text", { x: width - 10, y: height - 6, "text-anchor": "end" }, formatCount(s1)),
    svgElement("polyline", { points: shown.map((entry) => `${x(entry.step)},${y(entry[name])}`).join(" "), fill: "none", stroke: toCss(parseColour(HUES[0])), "stroke-width": 2 }),
    ...(shown.length > 40 ? [] : shown).map((entry) => svgElement("circle", { cx: x(entry.step), cy: y(entry[name]), r: 3, fill: toCss(parseColour(HUES[0])) })));
  return element("figure", {}, element("figcaption", {}, title), svg);
}

function trainingPanel() {
  const losses = content.losses.map(([loss_class, loss_instance], i) => ({ step: i + 1, loss_class, loss_instance }));
  const entries = content.history, decimal = (value) => value.toFixed(2), integer = (value) => String(Math.round(value));
  return [
    element("h2", {}, "Training"),
    element("p", {}, `${formatCount(content.steps)} steps${content.settled ? ", converged" : ""}.`),
    curveFigure("Class-wise loss", losses, "loss_class", decimal),
    curveFigure("Instance-wise loss", losses, "loss_instance", decimal),
    element("h3", {}, "At each update of the pseudo-labels"),
    curveFigure("Number of predicted clusters", entries, "clusters", integer),
    curveFigure("Share of texts whose cluster changed", entries, "moved", formatPercent),
    curveFigure("Mean confidence", entries, "confidence", formatPercent),
  ].filter(Boolean);
}

function truthPanel() {
  const { acc, nmi, ari, classes, clusters, matrix, column } = content.truth;
  const largest = matrix.reduce((max, row) => row.reduce((a, b) => Math.max(a, b), max), 1);
  const head = element("tr", {}, element("th", {}, column), ...clusters.map((id) => element("th", { class: "number", title: clusterName(id) }, String(id))));
  const rows = classes.map((name, i) => element("tr", {}, element("th", {}, name), ...matrix[i].map((value) => {
    const cell = element("td", {}, value ? formatCount(value) : "");
    cell.style.background = value ? toCss(parseColour(HUES[0]), 0.08 + (0.5 * value) / largest) : "";
    return cell;
  })));
  return [
    element("h2", {}, "Comparison with the true classes"),
    element("p", {}, `ACC ${formatPercent(acc)}, NMI ${formatPercent(nmi)}, ARI ${formatPercent(ari)}, for the clusters without corrections.`),
    element("p", { class: "meta" }, "Rows are classes, columns are clusters; the clusters are ordered such that the best matches are on the diagonal."),
    element("table", { class: "matrix" }, element("thead", {}, head), element("tbody", {}, ...rows)),
    ...(content.truth.calibration ? calibrationFigures(content.truth.calibration) : []),
  ];
}

// A square figure of values from 0 to 1; `draw` gets functions that place a value.
function unitFigure(title, caption, xLabel, yLabel, draw) {
  const size = 280, left = 46, right = 24, bottom = 38, top = 12, percent = (value) => `${Math.round(100 * value)} %`;
  const x = (value) => left + value * (size - left - right), y = (value) => size - bottom - value * (size - bottom - top);
  const svg = svgElement("svg", { viewBox: `0 0 ${size} ${size}`, width: size, role: "img", "aria-label": `${title}. ${caption}` });
  svg.append(
    svgElement("rect", { x: x(0), y: y(1), width: x(1) - x(0), height: y(0) - y(1), fill: "none", stroke: "currentColor", opacity: 0.4 }),
    ...[0, 0.5, 1].flatMap((value) => [
      svgElement("text", { x: x(value), y: y(0) + 14, "text-anchor": "middle" }, percent(value)),
      svgElement("text", { x: left - 5, y: y(value) + 4, "text-anchor": "end" }, percent(value))]),
    svgElement("text", { x: x(0.5), y: size - 6, "text-anchor": "middle" }, xLabel),
    svgElement("text", { x: x(0.5), y: y(1) + 14, "text-anchor": "middle", opacity: 0.7 }, yLabel),
    ...draw(x, y));
  return element("figure", {}, element("figcaption", {}, element("strong", {}, title), " ", caption), svg);
}

function calibrationFigures({ ece, aurc, risk_at_half, bins, coverage, risk }) {
  const colour = toCss(parseColour(HUES[0])), width = 0.08;
  const largest = Math.max(...bins.map((bin) => bin.texts));
  return [
    element("h3", {}, "Confidence"),
    element("p", {}, `Expected calibration error ${ece.toFixed(3)}, area under the risk-coverage curve ${aurc.toFixed(3)}; error of the surest half ${formatPercent(risk_at_half)}.`),
    element("div", { class: "figures" },
      unitFigure("Reliability diagram.", "Bars: share of texts in the right cluster, by confidence; darker where there are more texts. On the diagonal, confidence is what it says.", "confidence", "in the right cluster", (x, y) => [
        ...bins.map((bin) => svgElement("rect", { x: x(bin.low + (0.1 - width) / 2), y: y(bin.accuracy), width: x(width) - x(0), height: y(0) - y(bin.accuracy), fill: colour, opacity: 0.3 + (0.7 * bin.texts) / largest })),
        svgElement("line", { x1: x(0), y1: y(0), x2: x(1), y2: y(1), stroke: "currentColor", "stroke-dasharray": "4 3" })]),
      unitFigure("Risk-coverage curve.", "Error among the surest texts, by the share of texts that are kept.", "share of the texts, surest first", "error", (x, y) => [
        svgElement("polyline", { points: coverage.map((share, i) => `${x(share)},${y(risk[i])}`).join(" "), fill: "none", stroke: colour, "stroke-width": 2 })])),
  ];
}

function settingsPanel() {
  const table = (values) => element("table", {}, element("tbody", {}, ...Object.entries(values).map(([name, value]) =>
    element("tr", {}, element("th", {}, name), element("td", {}, typeof value === "object" ? JSON.stringify(value) : String(value))))));
  return [
    element("h2", {}, "The run"), table(content.run),
    element("h3", {}, "Settings"), table(content.settings),
    element("h3", {}, "Versions"), table(content.versions),
  ];
}

const PANELS = { map: null, sizes: sizesPanel, count: nClustersPanel, training: trainingPanel, truth: truthPanel, proposals: proposalsPanel, settings: settingsPanel };

function openTab(name) {
  for (const panel of Object.keys(PANELS)) {
    const tab = byId("tab-" + panel);
    tab.setAttribute("aria-selected", String(panel === name));
    tab.tabIndex = panel === name ? 0 : -1;
    byId("panel-" + panel).hidden = panel !== name;
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
  subscribe(drawPanel);
  byId("tab-truth").hidden = !content.truth;
  byId("tab-proposals").hidden = state.proposals.length === 0;
  byId("tab-count").hidden = !content.count && !content.tree.length;
  const tabs = Object.keys(PANELS).filter((name) => !byId("tab-" + name).hidden);
  for (const [i, name] of tabs.entries()) {
    byId("tab-" + name).addEventListener("click", () => openTab(name));
    byId("tab-" + name).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(i + step + tabs.length) % tabs.length];
      openTab(next);
      byId("tab-" + next).focus();
    });
  }
}
