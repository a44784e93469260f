// The number of clusters: the scores of each candidate.

function nClustersFigures(search) {
  const { n_clusters, low, high, sure, runners_up, candidates } = search;
  const certainty = { clear: "The estimate is clear.", fair: "The estimate is fairly certain.", weak: "The estimate is uncertain: no number stands out." }[sure];
  const near = low < high ? ` ${low} to ${high} fit about as well.` : "";
  const others = runners_up.length ? ` Other candidates: ${runners_up.join(", ")}.` : "";
  const parts = [element("p", { id: "count-summary" }, `The texts suggest ${n_clusters} clusters. ${certainty}${near}${others}`)];
  if (candidates.length < 2) return parts;
  const score = (candidate) => candidate.told + candidate.apart + candidate.stable;
  const width = 640, height = 260, left = 46, bottom = 34, top = 14;
  const logs = candidates.map((candidate) => Math.log(candidate.n_clusters)), scores = candidates.map(score);
  const [x0, x1] = [Math.min(...logs), Math.max(...logs)], [y0, y1] = [Math.min(...scores), Math.max(...scores)];
  const x = (number) => left + ((Math.log(number) - x0) / Math.max(x1 - x0, 1e-9)) * (width - left - 20), y = (value) => height - bottom - ((value - y0) / Math.max(y1 - y0, 1e-9)) * (height - bottom - top);
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, width: width, role: "img", "aria-label": `The score of each number of clusters; the highest is that of ${n_clusters}` });
  svg.append(
    svgElement("rect", { x: x(low) - 3, y: top, width: x(high) - x(low) + 6, height: height - bottom - top, fill: toCss(parseColour(HUES[0]), 0.15) }),
    svgElement("line", { x1: left, x2: width - 20, y1: height - bottom, y2: height - bottom, stroke: "currentColor", opacity: 0.4 }),
    svgElement("line", { x1: x(n_clusters), x2: x(n_clusters), y1: top, y2: height - bottom, stroke: toCss(parseColour(HUES[0])), "stroke-dasharray": "4 3" }),
    svgElement("polyline", { points: candidates.map((candidate) => `${x(candidate.n_clusters)},${y(score(candidate))}`).join(" "), fill: "none", stroke: toCss(parseColour(HUES[0])), "stroke-width": 2 }),
    svgElement("text", { x: left - 6, y: y(y1) + 4, "text-anchor": "end" }, y1.toFixed(1)),
    svgElement("text", { x: left - 6, y: y(y0) + 4, "text-anchor": "end" }, y0.toFixed(1)));
  for (const candidate of candidates) svg.append(svgElement("circle", { cx: x(candidate.n_clusters), cy: y(score(candidate)), r: candidate.n_clusters === n_clusters ? 5 : 3, fill: toCss(parseColour(HUES[0])) }));
  // Label the axis where there is room, the estimate and the runners-up first.
  const preferred = new Set([n_clusters, ...runners_up]), placed = [];
  for (const candidate of [...candidates].sort((a, b) => preferred.has(b.n_clusters) - preferred.has(a.n_clusters) || a.n_clusters - b.n_clusters)) {
    const position = x(candidate.n_clusters);
    if (placed.some((other) => Math.abs(other - position) < 26)) continue;
    placed.push(position);
    svg.append(svgElement("text", { x: position, y: height - 14, "text-anchor": "middle", "font-weight": candidate.n_clusters === n_clusters ? "bold" : "normal" }, String(candidate.n_clusters)));
  }
  const head = element("tr", {}, ...["clusters", "neighbour NMI", "silhouette", "stability", "sum"].map((name) => element("th", { class: "number" }, name)));
  const rows = candidates.map((candidate) => element("tr", {}, ...[String(candidate.n_clusters), ...[candidate.told, candidate.apart, candidate.stable, score(candidate)].map((value) => value.toFixed(2))].map((value) => element("td", { class: "number" }, value))));
  parts.push(
    element("figure", {}, element("figcaption", {}, "The sum of the scores of each number of clusters. Dashed: the estimate. Shaded: numbers that fit about as well."), svg),
    element("details", {}, element("summary", {}, "Scores of each number"),
      element("p", { class: "meta" }, "Neighbour NMI: normalized mutual information of the clusters of neighbouring texts. Silhouette: how much nearer texts are to their own cluster than to the next. Stability: adjusted mutual information of two halves of the texts that are clustered separately."),
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows))));
  return parts;
}
