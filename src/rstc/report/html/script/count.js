// How many clusters: what spoke for each number that was tried, and the tree over the clusters.

function countPanel() {
  return [element("h2", {}, "How many clusters"), ...(content.count ? countFigures(content.count) : []), ...treeFigure()];
}

function countFigures(found) {
  const { n_clusters, low, high, sure, runners_up, candidates } = found;
  const said = { clear: "The texts say so clearly.", fair: "This is fairly sure.", weak: "This is a weak guess: no number stands out." }[sure];
  const near = low < high ? ` ${low} to ${high} would serve about as well.` : "";
  const others = runners_up.length ? ` The next to stand out: ${runners_up.join(", ")}.` : "";
  const lines = [element("p", { id: "count-said" }, `The texts suggest ${n_clusters} clusters. ${said}${near}${others}`)];
  if (candidates.length < 2) return lines;
  const score = (one) => one.told + one.apart + one.stable;
  const wide = 640, high_ = 260, left = 46, bottom = 34, top = 14;
  const logs = candidates.map((one) => Math.log(one.n_clusters)), scores = candidates.map(score);
  const [x0, x1] = [Math.min(...logs), Math.max(...logs)], [y0, y1] = [Math.min(...scores), Math.max(...scores)];
  const x = (number) => left + ((Math.log(number) - x0) / Math.max(x1 - x0, 1e-9)) * (wide - left - 20), y = (value) => high_ - bottom - ((value - y0) / Math.max(y1 - y0, 1e-9)) * (high_ - bottom - top);
  const svg = drawing("svg", { viewBox: `0 0 ${wide} ${high_}`, width: wide, role: "img", "aria-label": `How much speaks for each number of clusters; most for ${n_clusters}` });
  svg.append(
    drawing("rect", { x: x(low) - 3, y: top, width: x(high) - x(low) + 6, height: high_ - bottom - top, fill: css(rgb(HUES[0]), 0.15) }),
    drawing("line", { x1: left, x2: wide - 20, y1: high_ - bottom, y2: high_ - bottom, stroke: "currentColor", opacity: 0.4 }),
    drawing("line", { x1: x(n_clusters), x2: x(n_clusters), y1: top, y2: high_ - bottom, stroke: css(rgb(HUES[0])), "stroke-dasharray": "4 3" }),
    drawing("polyline", { points: candidates.map((one) => `${x(one.n_clusters)},${y(score(one))}`).join(" "), fill: "none", stroke: css(rgb(HUES[0])), "stroke-width": 2 }),
    drawing("text", { x: left - 6, y: y(y1) + 4, "text-anchor": "end" }, y1.toFixed(1)),
    drawing("text", { x: left - 6, y: y(y0) + 4, "text-anchor": "end" }, y0.toFixed(1)));
  for (const one of candidates) svg.append(drawing("circle", { cx: x(one.n_clusters), cy: y(score(one)), r: one.n_clusters === n_clusters ? 5 : 3, fill: css(rgb(HUES[0])) }));
  // Numbers below the axis that have room: the chosen one and the runners-up before all others.
  const wanted = new Set([n_clusters, ...runners_up]), placed = [];
  for (const one of [...candidates].sort((a, b) => wanted.has(b.n_clusters) - wanted.has(a.n_clusters) || a.n_clusters - b.n_clusters)) {
    const at = x(one.n_clusters);
    if (placed.some((other) => Math.abs(other - at) < 26)) continue;
    placed.push(at);
    svg.append(drawing("text", { x: at, y: high_ - 14, "text-anchor": "middle", "font-weight": one.n_clusters === n_clusters ? "bold" : "normal" }, String(one.n_clusters)));
  }
  const head = element("tr", {}, ...["clusters", "told", "apart", "stable", "sum"].map((name) => element("th", { class: "number" }, name)));
  const rows = candidates.map((one) => element("tr", {}, ...[String(one.n_clusters), ...[one.told, one.apart, one.stable, score(one)].map((value) => value.toFixed(2))].map((value) => element("td", { class: "number" }, value))));
  lines.push(
    element("figure", {}, element("figcaption", {}, "How much speaks for each number. The dashed line: the number taken; shaded: about as good."), svg),
    element("details", {}, element("summary", {}, "What was asked of each number"),
      element("p", { class: "meta" }, "Told: how much a text’s cluster tells of the clusters of the texts most like it. Apart: how much nearer texts are to their own cluster than to the next. Stable: how far two halves of the texts, clustered separately, agree."),
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows))));
  return lines;
}

function treeFigure() {
  const nodes = new Map(), rows = content.tree.filter(([a, b]) => state.clusters.has(a) && state.clusters.has(b));
  if (!rows.length) return [];
  const leaf = (id) => nodes.get(id) || { leaves: [id], at: 0, parts: [] };
  let root = null;
  for (const [a, b, distance] of rows) {
    const [one, other] = [leaf(a), leaf(b)];
    root = { leaves: [...one.leaves, ...other.leaves], at: distance, parts: [one, other] };
    for (const id of root.leaves) nodes.set(id, root);
  }
  const line = 20, names = 250, wide = 380, most = Math.max(root.at, 1e-9);
  const rowOf = new Map(root.leaves.map((id, i) => [id, i]));
  const svg = drawing("svg", { viewBox: `0 0 ${names + wide + 20} ${root.leaves.length * line + 10}`, width: names + wide + 20, role: "img", "aria-label": "A tree over the clusters" });
  const x = (distance) => names + (distance / most) * wide;
  const draw = (node) => {
    if (!node.parts.length) {
      const id = node.leaves[0], y = rowOf.get(id) * line + line / 2 + 5, name = nameOf(id);
      svg.append(drawing("text", { x: names - 8, y: y + 4, "text-anchor": "end" }, name.length > 34 ? name.slice(0, 33) + "…" : name));
      return y;
    }
    const ys = node.parts.map(draw), at = x(node.at);
    node.parts.forEach((part, i) => svg.append(drawing("line", { x1: x(part.at), x2: at, y1: ys[i], y2: ys[i], stroke: "currentColor", opacity: 0.6 })));
    svg.append(drawing("line", { x1: at, x2: at, y1: ys[0], y2: ys[1], stroke: "currentColor", opacity: 0.6 }));
    return (ys[0] + ys[1]) / 2;
  };
  draw(root);
  return [element("h3", {}, "Which clusters are alike"), element("figure", {}, element("figcaption", {}, "The further to the left two branches meet, the more alike their texts are. Fewer clusters: rstc merge DIR --to 5."), svg)];
}
