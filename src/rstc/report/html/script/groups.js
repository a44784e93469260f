// The tab Groups: how the clusters differ between the values of a column, as sentences and as a heat map of shares.
// content.groups is computed by the run.

const groupOptions = { column: 0, sorting: { by: "strength", descending: true } };
const MAX_FINDINGS = 8; // sentences that are shown at once
const STRONGEST_RATIO = 3; // the ratio, or its inverse, from which a cell has the full colour
const BLUE = [0, 114, 178], ORANGE = [213, 94, 0]; // orange is more, as in the terminal and in `rstc figures`

const logRatio = (cell) => (cell.ratio > 0 ? Math.log(cell.ratio) : cell.ratio === null ? Infinity : -Infinity);

// How much a cell deviates, if that is significant; shares of zero count as MAX_RATIO.
const MAX_RATIO = 20;
const strengthOf = (cell) => (cell.sign ? Math.min(Math.abs(logRatio(cell)), Math.log(MAX_RATIO)) : 0);
const formatStrength = (strength) => (strength ? `× ${strength < Math.log(MAX_RATIO) ? Math.exp(strength).toFixed(1) : `${MAX_RATIO}+`}` : "–");

function cellColour(cell) {
  if (!cell.sign) return "";
  return toCss(cell.sign > 0 ? ORANGE : BLUE, 0.1 + 0.35 * Math.min(1, strengthOf(cell) / Math.log(STRONGEST_RATIO)));
}

function describeCell(group, cluster, value, cell) {
  const times = cell.ratio === null ? "in no other group" : cell.ratio >= 1 ? `${cell.ratio.toFixed(1)} times the share in the others` : cell.ratio > 0 ? `${(1 / cell.ratio).toFixed(1)} times less than in the others` : "none, unlike the others";
  return [
    `${isolate(nameOf(cluster))}, ${group.values[value]}`,
    `${formatPercent(cell.share)} of ${formatTexts(group.totals[value])} (95 % interval ${formatPercent(cell.low)} to ${formatPercent(cell.high)})`,
    formatTexts(cell.count),
    cell.sign ? times : "no significant difference to the others",
  ];
}

// The texts of a cluster that have a value of a column; null if no cell of the column on the page is this value, such as a
// range of numbers.
function rowsWithValue(cluster, name, value) {
  const column = columns.find((one) => one.name === name), hasValue = (row) => cellIn(column, row).trim() === value;
  if (!column || !Array.from({ length: N }, (_, row) => row).some(hasValue)) return null;
  return rowsOf(cluster).filter(hasValue);
}

function openCell(group, cluster, value) {
  const rows = rowsWithValue(cluster, group.column, group.values[value]);
  if (rows) openTexts(rows, `${isolate(nameOf(cluster))}, ${group.column} ${group.values[value]}`);
  else openTexts(rowsOf(cluster), `${isolate(nameOf(cluster))}, all values of ${group.column}`);
}

function orderRows(group, { by, descending }) {
  const size = (i) => group.cells[i].reduce((sum, cell) => sum + cell.count, 0);
  const key = {
    size,
    strength: (i) => Math.max(...group.cells[i].map(strengthOf)),
    name: null,
  }[by] ?? ((i) => group.cells[i][Number(by)]?.share ?? 0);
  const rows = group.clusters.map((_, i) => i), keys = rows.map((i) => (by === "name" ? 0 : key(i))), sizes = rows.map(size);
  if (by === "name") return rows.sort((a, b) => (descending ? 1 : -1) * nameOf(group.clusters[a]).localeCompare(nameOf(group.clusters[b])));
  return rows.sort((a, b) => (descending ? 1 : -1) * (keys[b] - keys[a]) || sizes[b] - sizes[a]);
}

function heatMap(group) {
  const { sorting } = groupOptions, n = group.values.length;
  const head = element("tr", {},
    sortHeading("Cluster", "name", sorting, { class: "corner" }), sortHeading("Texts", "size", sorting, { class: "number" }), sortHeading("Strength", "strength", sorting, { class: "number" }),
    ...group.values.map((value, i) => sortHeading(value, String(i), sorting, { class: "value" })));
  const totals = element("tr", { class: "totals" }, element("th", { scope: "row" }, "Texts"), element("th", { class: "number" }, formatCount(group.totals.reduce((a, b) => a + b, 0))), element("th", {}), ...group.totals.map((total) => element("th", { class: "number" }, formatCount(total))));
  const body = orderRows(group, sorting).map((i) => {
    const cluster = group.clusters[i], cells = group.cells[i], strength = Math.max(...cells.map(strengthOf));
    return element("tr", {},
      element("th", { scope: "row" }, colourDot(cluster), " ", element("bdi", {}, nameOf(cluster))),
      element("th", { class: "number" }, formatCount(cells.reduce((sum, cell) => sum + cell.count, 0))),
      element("th", { class: "number" }, formatStrength(strength)),
      ...cells.map((cell, value) => {
        const created = element("td", { role: "gridcell", tabindex: -1, "data-key": `cell-${cluster}-${value}`, "data-cluster": cluster, "data-value": value, "data-sign": cell.sign }, cell.count || cell.sign ? `${(100 * cell.share).toFixed(cell.share < 0.0995 ? 1 : 0)} %` : "");
        created.style.background = cellColour(cell);
        return created;
      }));
  });
  const table = element("table", { class: "heat", "aria-label": `Shares of the clusters for each value of ${group.column}` }, element("thead", {}, head, totals), element("tbody", {}, ...body));
  table.style.setProperty("--values", n);
  const position = (cell) => [group, Number(cell.dataset.cluster), Number(cell.dataset.value)];
  makeGrid(table, (cell) => {
    const [, cluster, value] = position(cell);
    return describeCell(group, cluster, value, group.cells[group.clusters.indexOf(cluster)][value]);
  }, (cell) => openCell(...position(cell)));
  return element("div", { class: "scroll tall" }, table);
}

function heatLegend() {
  const swatch = (label, colour, opacity) => {
    const box = element("span", { class: "swatch", "aria-hidden": "true" });
    box.style.background = opacity ? toCss(colour, opacity) : "";
    return element("li", {}, box, " ", label);
  };
  return element("ul", { class: "legend" }, swatch("more than in the other groups", ORANGE, 0.45), swatch("less", BLUE, 0.45), swatch("no significant difference", GREY, 0));
}

function describeEffect({ effect, p_value }) {
  const size = effect < 0.1 ? "hardly differ" : effect < 0.3 ? "differ somewhat" : "differ strongly";
  const chance = p_value < 0.001 ? "p < 0.001" : `p = ${p_value.toFixed(3)}`;
  return `The clusters ${p_value < 0.05 ? size : "do not differ significantly"} between the values (Cramér's V ${effect.toFixed(2)}, ${chance}).`;
}

function drawGroups(panel) {
  const group = content.groups[Math.min(groupOptions.column, content.groups.length - 1)];
  const choice = element("select", { id: "group-column", "data-key": "group-column", onchange: () => { groupOptions.column = Number(choice.value); groupOptions.sorting = { by: "strength", descending: true }; redrawPanel(); } },
    ...content.groups.map((one, i) => element("option", { value: i }, one.column)));
  choice.value = groupOptions.column;
  const missing = group.n_missing ? ` ${formatTexts(group.n_missing)} without a value ${group.n_missing === 1 ? "is" : "are"} left out.` : "";
  const sentences = (list) => element("ul", { class: "findings" }, ...list.map((sentence) => element("li", {}, sentence)));
  const more = group.findings.slice(MAX_FINDINGS);
  panel.replaceChildren(...[
    element("h2", {}, `Groups by ${group.column}`),
    content.groups.length > 1 ? element("label", { class: "pick" }, "Column ", choice) : null,
    element("p", { class: "lead" }, `${describeEffect(group)}${missing}`),
    correctionsNote(),
    group.findings.length ? sentences(group.findings.slice(0, MAX_FINDINGS)) : element("p", {}, "No single cell differs significantly."),
    more.length ? foldable("findings", `${formatCount(more.length)} more findings`, () => sentences(more)) : null,
    element("h3", {}, "Share of each cluster"),
    element("p", { class: "meta" }, "A cell is the share of the column's texts that are in the cluster. Headings sort; a cell shows its interval, and its texts when it is clicked."),
    heatLegend(),
    heatMap(group),
  ].filter(Boolean));
}
