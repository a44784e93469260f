// Charts that several tabs draw: curves over the steps of training, and calibration of the confidence.

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
