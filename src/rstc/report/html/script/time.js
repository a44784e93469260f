// The tab Over time: the number of texts of the clusters in each period, and for each cluster its share of the texts with
// an interval, those with the strongest trends first. content.over_time is computed by the run.

const TRENDS = [["new", "New"], ["growing", "Growing"], ["fading", "Fading"], ["gone", "Gone"], ["steady", "Steady"]];
const MAX_AREAS = 11; // clusters with an area of their own in the overview; the others are one area
const MAX_STEADY = 12; // charts of steady clusters that are shown at once
const timeOptions = { shared: false, shares: false };

function formatDate(date, options) {
  return new Date(date + "T00:00:00Z").toLocaleDateString("en-GB", { timeZone: "UTC", ...options });
}

function formatPeriod(index, isShort = false) {
  const { every, periods } = content.over_time, date = periods[index];
  if (every === "year") return date.slice(0, 4);
  if (every === "quarter") return `Q${Math.floor((Number(date.slice(5, 7)) - 1) / 3) + 1} ${date.slice(0, 4)}`;
  if (every === "month") return formatDate(date, { month: "short", year: "numeric" });
  const day = formatDate(date, { day: "numeric", month: "short", year: "numeric" });
  return every === "week" && !isShort ? `week of ${day}` : day;
}

// Strongest trends first: by significance, then by the size of the change.
function compareTrends(a, b) {
  const strength = (cluster) => (cluster.change > 0 ? Math.abs(Math.log(cluster.change)) : Infinity);
  const difference = strength(b) - strength(a);
  return (a.q_value ?? 1) - (b.q_value ?? 1) || (Number.isNaN(difference) ? 0 : difference) || a.id - b.id;
}

const totalOf = (cluster) => cluster.counts.reduce((sum, count) => sum + count, 0);

// An image that is read with the pointer or the arrow keys: a cursor moves over its periods, `describe` returns the lines
// of a period's tooltip. Positions are those of the periods in the image.
function addCursor(svg, label, xs, top, bottom, describe) {
  const n = xs.length, line = svgElement("line", { y1: top, y2: bottom, stroke: "currentColor", "stroke-dasharray": "2 2", visibility: "hidden" });
  svg.append(line);
  let current = n - 1;
  const move = (index, event) => {
    current = Math.min(n - 1, Math.max(0, index));
    for (const name of ["x1", "x2"]) line.setAttribute(name, xs[current]);
    line.setAttribute("visibility", "visible");
    const lines = describe(current, event);
    svg.setAttribute("aria-valuenow", current);
    svg.setAttribute("aria-valuetext", lines.join(", "));
    const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
    showPanelTip(event?.clientX ?? box.left + xs[current] * scale, event?.clientY ?? box.top + box.height / 2, lines);
  };
  const hide = () => {
    line.setAttribute("visibility", "hidden");
    hideTip();
  };
  for (const [name, value] of Object.entries({ tabindex: 0, role: "slider", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": n - 1, "aria-valuenow": n - 1, "aria-valuetext": describe(n - 1).join(", ") })) svg.setAttribute(name, value);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect(), x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    move(xs.reduce((best, at, i) => (Math.abs(at - x) < Math.abs(xs[best] - x) ? i : best), 0), event);
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("focus", () => { if (svg.matches(":focus-visible")) move(current); });
  svg.addEventListener("blur", hide);
  svg.addEventListener("keydown", (event) => {
    const target = { ArrowRight: current + 1, ArrowUp: current + 1, ArrowLeft: current - 1, ArrowDown: current - 1, Home: 0, End: n - 1 }[event.key];
    if (event.key === "Escape") hide();
    if (target === undefined) return;
    event.preventDefault();
    move(target);
  });
}

function spread(n, left, right) {
  return Array.from({ length: n }, (_, i) => (n < 2 ? (left + right) / 2 : left + (i / (n - 1)) * (right - left)));
}

// Labels of the first and the last period, and of some between them where there is room.
function periodLabels(xs, y, gap) {
  const n = xs.length, labels = [];
  const count = Math.max(2, Math.min(n, Math.floor((xs[n - 1] - xs[0]) / gap) + 1)), step = Math.ceil((n - 1) / (count - 1)) || 1;
  for (let i = 0; i < n; i += step) if (i + step <= n - 1 || i === n - 1 || n < 3) labels.push(i);
  if (!labels.includes(n - 1)) labels.push(n - 1);
  return labels.map((i) => svgElement("text", { x: xs[i], y, "text-anchor": n > 1 && i === 0 ? "start" : n > 1 && i === n - 1 ? "end" : "middle" }, formatPeriod(i, true)));
}

function timeOverview(width) {
  const { clusters, totals, periods } = content.over_time, n = periods.length;
  const ordered = [...clusters].sort((a, b) => totalOf(b) - totalOf(a)), own = ordered.slice(0, MAX_AREAS), rest = ordered.slice(MAX_AREAS);
  const areas = own.map((cluster) => ({ id: cluster.id, name: nameOf(cluster.id), counts: cluster.counts, colour: colourOf(cluster.id) }));
  const otherCounts = totals.map((total, i) => Math.max(0, total - own.reduce((sum, cluster) => sum + cluster.counts[i], 0)));
  if (rest.length || otherCounts.some(Boolean)) areas.push({ id: null, name: rest.length ? `${rest.length} other clusters` : "no cluster", counts: otherCounts, colour: GREY });
  const height = 240, left = 48, right = 8, top = 8, bottom = 24;
  const value = (area, i) => (timeOptions.shares ? area.counts[i] / Math.max(totals[i], 1) : area.counts[i]);
  const largest = timeOptions.shares ? 1 : Math.max(...totals, 1), xs = spread(n, left, width - right);
  const y = (amount) => height - bottom - (amount / largest) * (height - bottom - top);
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "chart" });
  const floor = new Array(n).fill(0), format = timeOptions.shares ? (amount) => `${Math.round(100 * amount)} %` : formatCount;
  const edges = areas.map((area) => {
    const lower = [...floor];
    for (let i = 0; i < n; i++) floor[i] += value(area, i);
    const across = n > 1 ? xs : [left, width - right], at = (list, i) => list[n > 1 ? i : 0]; // one period is one block
    const points = [...across.map((x, i) => `${x},${y(at(floor, i))}`), ...across.map((x, i) => `${x},${y(at(lower, i))}`).reverse()];
    svg.append(svgElement("polygon", { points: points.join(" "), fill: toCss(area.colour), stroke: "var(--back)", "stroke-width": 0.75 }));
    return [...floor];
  });
  for (const tick of [0, 0.5, 1]) svg.prepend(
    svgElement("line", { x1: left, x2: width - right, y1: y(tick * largest), y2: y(tick * largest), stroke: "currentColor", opacity: 0.25 }),
    svgElement("text", { x: left - 6, y: y(tick * largest) + 4, "text-anchor": "end" }, format(timeOptions.shares ? tick : Math.round(tick * largest))));
  svg.append(...periodLabels(xs, height - 6, 110));
  addCursor(svg, "Texts of all clusters over time", xs, top, height - bottom, (i, event) => {
    const lines = [`${formatPeriod(i)}: ${formatTexts(totals[i])}`], line = (area) => `${isolate(area.name)}: ${formatCount(area.counts[i])} (${formatPercent(area.counts[i] / Math.max(totals[i], 1))})`;
    if (event) {
      const box = svg.getBoundingClientRect(), py = ((event.clientY - box.top) / box.height) * height;
      const under = edges.findIndex((edge) => py >= y(edge[i]));
      return under >= 0 ? [...lines, line(areas[under])] : lines;
    }
    return [...lines, ...[...areas].sort((a, b) => b.counts[i] - a.counts[i]).slice(0, 5).map(line)];
  });
  const legend = element("ul", { class: "legend" }, ...areas.map((area) => {
    const dot = element("span", { class: "dot", "aria-hidden": "true" });
    dot.style.background = toCss(area.colour);
    return element("li", {}, dot, " ", area.id === null || !state.clusters.has(area.id) ? area.name : element("button", { type: "button", class: "link", onclick: () => openClusterTexts(area.id) }, area.name));
  }));
  return element("figure", { class: "wide" }, svg, legend);
}

function timeCard(cluster, width, sharedTop) {
  const { totals, periods } = content.over_time, n = periods.length, { shares, low, high, counts, peak } = cluster;
  const height = 118, left = 44, right = 8, top = 8, bottom = 20, colour = colourOf(cluster.id), name = nameOf(cluster.id);
  const largest = Math.max(1e-6, timeOptions.shared ? sharedTop : Math.max(...shares, Math.min(Math.max(...high), 3 * Math.max(...shares))));
  const xs = spread(n, left, width - right), y = (share) => height - bottom - (Math.min(share, largest) / largest) * (height - bottom - top);
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "chart" });
  const line = (values) => xs.map((x, i) => `${x},${y(values[i])}`);
  svg.append(
    svgElement("polygon", { points: [...line(high), ...line(low).reverse()].join(" "), fill: toCss(colour, 0.25) }),
    svgElement("polyline", { points: line(shares).join(" "), fill: "none", stroke: toCss(colour), "stroke-width": 2, "stroke-linejoin": "round" }),
    svgElement("line", { x1: left, x2: width - right, y1: y(0), y2: y(0), stroke: "currentColor", opacity: 0.4 }),
    svgElement("text", { x: left - 6, y: y(largest) + 8, "text-anchor": "end" }, `${(100 * largest).toFixed(largest < 0.1 ? 1 : 0)} %`),
    svgElement("text", { x: left - 6, y: y(0) + 4, "text-anchor": "end" }, "0"),
    ...periodLabels(xs, height - 4, 1000));
  if (n === 1) svg.append(svgElement("circle", { cx: xs[0], cy: y(shares[0]), r: 4, fill: toCss(colour) }));
  addCursor(svg, `Share of ${name} over time`, xs, top, height - bottom, (i) => [
    formatPeriod(i), `${formatPercent(shares[i])} of ${formatTexts(totals[i])} (95 % interval ${formatPercent(low[i])} to ${formatPercent(high[i])})`, formatTexts(counts[i])]);
  const card = element("article", { class: "card" },
    element("h4", {}, colourDot(cluster.id), " ", element("button", { type: "button", class: "link", onclick: () => openClusterTexts(cluster.id), disabled: !state.clusters.has(cluster.id) }, name)),
    element("p", {}, isolateQuotes(cluster.sentence)), svg);
  if (peak?.rows.length) {
    const open = () => openTexts(peak.rows, `${name}: ${formatPeriod(peak.period)}`);
    const dot = svgElement("circle", { cx: xs[peak.period], cy: y(shares[peak.period]), r: 5.5, fill: "var(--back)", stroke: toCss(colour), "stroke-width": 2.5, class: "peak" });
    dot.addEventListener("click", open);
    svg.append(dot);
    card.append(element("button", { type: "button", class: "peak-texts", onclick: open }, `Texts of the peak, ${formatPeriod(peak.period)}`));
  }
  return card;
}

function timeTable() {
  const { clusters, periods } = content.over_time;
  const head = element("tr", {}, element("th", { scope: "col" }, "Cluster"), element("th", { scope: "col" }, "Trend"), ...periods.map((_, i) => element("th", { scope: "col", class: "number" }, formatPeriod(i, true))));
  const rows = clusters.map((cluster) => element("tr", {}, element("th", { scope: "row" }, nameOf(cluster.id)), element("td", {}, cluster.trend), ...cluster.shares.map((share, i) => element("td", { class: "number" }, `${formatPercent(share)} (${formatCount(cluster.counts[i])})`))));
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Shares of the clusters in each period" }, element("table", {}, element("caption", {}, "Share of the texts of each period, and number of texts"), element("thead", {}, head), element("tbody", {}, ...rows)));
}

function timeToggle(key, label) {
  const box = element("input", { type: "checkbox", "data-key": "time-" + key, onchange: () => { timeOptions[key] = box.checked; redrawPanel(); } });
  box.checked = timeOptions[key];
  return element("label", { class: "pick" }, box, " ", label);
}

function drawTime(panel) {
  const { column, every, periods, n_missing, clusters } = content.over_time;
  const inner = Math.min(panel.clientWidth - 32, 1360), perRow = Math.max(1, Math.floor((inner + 16) / 300)), cardWidth = Math.floor((inner - 16 * (perRow - 1)) / perRow) - 26;
  const sharedTop = Math.max(...clusters.flatMap((cluster) => cluster.shares));
  const missing = n_missing ? ` ${formatTexts(n_missing)} without a date ${n_missing === 1 ? "is" : "are"} left out.` : "";
  const sections = TRENDS.flatMap(([trend, title]) => {
    const group = clusters.filter((cluster) => cluster.trend === trend).sort(trend === "steady" ? (a, b) => totalOf(b) - totalOf(a) : compareTrends);
    if (!group.length) return [];
    const cards = (list) => element("div", { class: "cards" }, ...list.map((cluster) => timeCard(cluster, cardWidth, sharedTop)));
    const first = trend === "steady" ? group.slice(0, MAX_STEADY) : group, more = group.slice(first.length);
    return [element("section", { "data-trend": trend, "aria-label": title }, element("h3", {}, `${title} `, element("span", { class: "meta" }, formatCount(group.length))), cards(first),
      more.length ? foldable("steady", `${formatCount(more.length)} more steady clusters`, () => cards(more)) : null)];
  });
  panel.replaceChildren(...[
    element("h2", {}, "Over time"),
    element("p", { class: "lead" }, `By column “${column}”, per ${every}, ${formatPeriod(0)}${periods.length > 1 ? ` to ${formatPeriod(periods.length - 1)}` : ""}.${missing} Lines are shares of each ${every}'s texts; bands are 95 % intervals: a change within the bands may be chance.`),
    correctionsNote(),
    element("h3", {}, "All texts"),
    timeToggle("shares", "as shares"),
    timeOverview(inner),
    timeToggle("shared", "the same scale for all clusters"),
    ...sections,
    foldable("time-table", "All numbers as a table", timeTable),
  ].filter(Boolean));
}
