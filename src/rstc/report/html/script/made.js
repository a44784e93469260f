// The tab How it was made: sizes, decisions, training, settings and versions, each with a sentence on what it is.

function sizeBars(width) {
  const rows = [...state.clusters.values()].sort((a, b) => b.size - a.size);
  const largest = Math.max(...rows.map((cluster) => Math.max(cluster.share, cluster.estimated_share ?? 0)), 1e-9);
  const bar = 16, names = width < 600 ? 130 : 280, length = width - names - 64;
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${rows.length * (bar + 8) + 10}`, width, role: "img", "aria-label": "Share of each cluster: " + rows.map((cluster) => `${isolate(cluster.name)} ${formatPercent(cluster.share)}`).join(", ") });
  rows.forEach((cluster, i) => {
    const y = i * (bar + 8) + 5;
    svg.append(
      svgElement("text", { x: names - 8, y: y + 12, "text-anchor": "end" }, shorten(cluster.name, width < 600 ? 17 : 40)),
      svgElement("rect", { x: names, y, width: Math.max(1, (cluster.share / largest) * length), height: bar, fill: toCss(colourOf(cluster.id)) }),
      svgElement("text", { x: names + length + 8, y: y + 12 }, formatPercent(cluster.share)));
    if (cluster.estimated_share === null) return;
    const x = names + (cluster.estimated_share / largest) * length;
    svg.append(svgElement("line", { x1: x, x2: x, y1: y - 3, y2: y + bar + 3, stroke: "currentColor", "stroke-width": 2 }));
  });
  return element("figure", {}, svg);
}

function trainingFigures() {
  const losses = content.losses.map(([loss_class, loss_instance], i) => ({ step: i + 1, loss_class, loss_instance }));
  const entries = content.history, decimal = (value) => value.toFixed(2), integer = (value) => String(Math.round(value));
  return [
    element("p", {}, `${formatCount(content.steps)} steps${content.settled ? ", converged" : ""}.`),
    element("div", { class: "figures" }, ...[curveFigure("Class-wise loss", losses, "loss_class", decimal), curveFigure("Instance-wise loss", losses, "loss_instance", decimal)].filter(Boolean)),
    element("h3", {}, "At each update of the pseudo-labels"),
    element("div", { class: "figures" }, ...[
      curveFigure("Number of predicted clusters", entries, "clusters", integer),
      curveFigure("Share of texts whose cluster changed", entries, "moved", formatPercent),
      curveFigure("Mean confidence", entries, "confidence", formatPercent)].filter(Boolean)),
  ];
}

function factTable(values) {
  return element("table", { class: "facts" }, element("tbody", {}, ...Object.entries(values).map(([name, value]) =>
    element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, value !== null && typeof value === "object" ? JSON.stringify(value) : String(value))))));
}

function secondsTable(seconds) {
  const total = Object.values(seconds).reduce((sum, spent) => sum + spent, 0);
  return [element("p", {}, `${total.toFixed(1)} seconds in all.`), factTable(Object.fromEntries(Object.entries(seconds).map(([stage, spent]) => [stage, `${spent.toFixed(1)} s`])))];
}

function drawMade(panel) {
  const width = Math.min(panel.clientWidth - 32, 860), { seconds, ...facts } = content.run;
  const section = (key, title, sentence, makeContent, isOpen = false) => foldable(key, title, () => [element("p", { class: "meta" }, sentence), makeContent()].flat(), isOpen);
  panel.replaceChildren(...[
    element("h2", {}, "How it was made"),
    section("sizes", "Sizes of the clusters", "Bars: the share of the texts in each cluster, as counted. Lines: the share that the optimal transport estimated while the clusters were found (b), except for clusters that corrections changed.", () => sizeBars(width), true),
    content.decisions.length ? section("decisions", "What was decided", "Choices that the program made by itself, from the texts.", () => element("ul", { class: "findings" }, ...content.decisions.map((sentence) => element("li", {}, sentence)))) : null,
    content.count ? section("count", "Number of clusters", "How the number of clusters was estimated: every candidate was scored by how well its clusters fit the texts.", () => nClustersFigures(content.count)) : null,
    section("training", "Training", "How the language model learned to separate the clusters: losses fall as it learns, and few texts should change their cluster at the end.", trainingFigures),
    section("facts", "The run", "What was clustered, and how the run was started.", () => factTable(facts)),
    section("seconds", "Time", "How long each part took.", () => secondsTable(seconds ?? {})),
    section("settings", "Settings", "All settings of the method, which a later run can be given to repeat this one.", () => factTable(content.settings)),
    section("versions", "Versions", "The program and the libraries that computed the result.", () => factTable(content.versions)),
  ].filter(Boolean));
}
