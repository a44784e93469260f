// What the colours of the points mean: clusters, the confidence, or the values of a column, with a legend.

const colouring = { column: null }; // null: by cluster

// A function from a row to its colour.
function colourFunction() {
  const { column } = colouring;
  if (!column) {
    const { ids, ofRow } = shownIndex(), colours = ids.map((id) => toPixel(colourOf(id)));
    return (row) => colours[ofRow[row]];
  }
  const grey = toPixel(GREY);
  if (column.kind === "category") {
    const colours = column.values.map((_, code) => toPixel(categoryColour(column, code)));
    return (row) => colours[column.packed[row]] ?? grey;
  }
  const [low, high] = colourRange(column), steps = Array.from({ length: 256 }, (_, i) => toPixel(rampColour(i / 255)));
  return (row) => {
    const value = numberIn(column, row);
    return Number.isNaN(value) ? grey : steps[Math.round(255 * Math.min(1, Math.max(0, (value - low) / (high - low || 1))))];
  };
}

// The range of the ramp: without the most extreme hundredth of the values, so that one of them does not decide.
function colourRange(column) {
  if (column.colourRange) return column.colourRange;
  const values = Float64Array.from({ length: N }, (_, row) => numberIn(column, row)).filter((value) => !Number.isNaN(value)).sort();
  const at = (share) => values[Math.round(share * (values.length - 1))];
  return (column.colourRange = at(0.01) < at(0.99) ? [at(0.01), at(0.99)] : rangeOf(column));
}

// A cell as the page shows it.
function cellText(column, row) {
  if (column.read) return Number.isNaN(column.read(row)) ? "" : formatValue(column, column.read(row));
  return cellIn(column, row);
}

function legendRow(colour, label) {
  const dot = element("span", { class: "dot", "aria-hidden": "true" });
  dot.style.background = toCss(colour);
  return element("li", {}, dot, " ", label);
}

function drawLegend() {
  const { column } = colouring, legend = byId("legend");
  legend.hidden = !column;
  if (!column) return legend.replaceChildren();
  if (column.kind === "category") {
    const counts = countCategories(column, state.passing), coloured = column.values.map((_, code) => code).filter((code) => categoryColour(column, code) !== GREY);
    const others = column.values.length - coloured.length;
    legend.replaceChildren(element("strong", {}, column.name), element("ul", {},
      ...coloured.map((code) => legendRow(categoryColour(column, code), `${shorten(column.values[code], 28)} (${formatCount(counts[code])})`)),
      others ? legendRow(GREY, `${others} other values`) : counts[column.values.length] ? legendRow(GREY, "no value") : null));
    return;
  }
  const ramp = element("canvas", { width: 128, height: 1, class: "ramp", "aria-hidden": "true" }), context = ramp.getContext("2d");
  for (let i = 0; i < 128; i++) {
    context.fillStyle = toCss(rampColour(i / 127));
    context.fillRect(i, 0, 1, 1);
  }
  const [low, high] = colourRange(column), range = rangeOf(column);
  let nMissing = 0;
  for (let row = 0; row < N; row++) if (Number.isNaN(numberIn(column, row))) nMissing++;
  const missing = nMissing ? element("div", {}, element("ul", {}, legendRow(GREY, `no value (${formatCount(nMissing)})`))) : "";
  const ends = [(range[0] < low ? "≤ " : "") + formatValue(column, low), (range[1] > high ? "≥ " : "") + formatValue(column, high)];
  legend.replaceChildren(element("strong", {}, column.name), ramp, element("div", { class: "ends" }, ...ends.map((end) => element("span", {}, end))), missing);
}

function startLegend() {
  const picker = byId("colour-by");
  picker.append(element("option", { value: "" }, "cluster"), ...colourColumns.map((column) => element("option", { value: column.index }, column.name)));
  picker.addEventListener("change", () => {
    colouring.column = colourColumns.find((column) => String(column.index) === picker.value) ?? null;
    pointStyles = null;
    drawLegend();
    forgetLabels();
    redraw();
  });
  subscribe(drawLegend);
  drawLegend();
}
