// Filters by the columns of the file: categories by checkboxes, numbers and dates by a range on a histogram, text by what
// it contains. Each filter is a function from a row to whether it passes, with a description for its chip.

const HISTOGRAM_BARS = 36;
const OPEN_COLUMNS = 8; // whose inputs are shown without a click
const SHOWN_CATEGORIES = 8; // before the others are asked for

function applyFilters() {
  const active = [...state.filters.values()];
  state.passing = active.length ? Uint8Array.from({ length: N }, (_, row) => (active.every((filter) => filter.test(row)) ? 1 : 0)) : null;
  notify();
}

function setFilter(column, filter) {
  if (filter) state.filters.set(column.index, { column, ...filter });
  else state.filters.delete(column.index);
  applyFilters();
}

function clearFilters() {
  state.filters.clear();
  for (const { reset } of filterInputs.values()) reset();
  applyFilters();
}

function removeFilter(column) {
  filterInputs.get(column).reset();
  setFilter(column, null);
}

const filterInputs = new Map(); // by column: functions that empty its inputs (reset) and draw its counts again (update)

const countPassing = () => (state.passing ? state.passing.reduce((sum, one) => sum + one, 0) : N);

// The texts that pass the filters of all other columns, which the counts of a column are of; null for all texts.
function passingOthers(column) {
  const others = [...state.filters.values()].filter((filter) => filter.column !== column);
  return others.length ? Uint8Array.from({ length: N }, (_, row) => (others.every((filter) => filter.test(row)) ? 1 : 0)) : null;
}

function categoryFilter(column) {
  const codes = [...column.values.keys()], all = countCategories(column, null), chosen = new Set();
  if (all[column.values.length]) codes.push(column.values.length); // empty cells
  const nameOf = (code) => (code < column.values.length ? column.values[code] : "(empty)");
  const largest = Math.max(...all, 1), rows = codes.map((code) => {
    const box = element("input", { type: "checkbox", onchange: () => { box.checked ? chosen.add(code) : chosen.delete(code); change(); } });
    const bar = element("span", { class: "bar-fill", "aria-hidden": "true" }), count = element("span", { class: "count" });
    return { code, box, bar, count, label: element("label", { class: "choice", "data-value": nameOf(code) }, box, element("span", { class: "choice-name" }, nameOf(code)), count, bar) };
  });
  function change() {
    setFilter(column, chosen.size ? {
      test: (row) => chosen.has(column.packed[row] === NO_CATEGORY ? column.values.length : column.packed[row]),
      label: shorten([...chosen].map(nameOf).join(", "), 40),
    } : null);
  }
  function update() {
    const counts = countCategories(column, passingOthers(column));
    for (const { code, bar, count } of rows) {
      count.textContent = formatCount(counts[code]);
      bar.style.width = (100 * counts[code]) / largest + "%";
    }
  }
  filterInputs.set(column, { update, reset: () => { chosen.clear(); for (const { box } of rows) box.checked = false; } });
  const list = element("div", { class: "choices" }, ...rows.slice(0, SHOWN_CATEGORIES).map((one) => one.label));
  if (rows.length <= SHOWN_CATEGORIES + 1) return [element("div", { class: "choices" }, ...rows.map((one) => one.label))];
  const more = actionButton(`${rows.length - SHOWN_CATEGORIES} more`, () => { list.append(...rows.slice(SHOWN_CATEGORIES).map((one) => one.label)); more.remove(); }, { class: "quiet" });
  return [list, more];
}

// The numbers of texts in equal parts of a column's range.
function histogramOf(column, includes) {
  const [low, high] = rangeOf(column), counts = new Array(HISTOGRAM_BARS).fill(0);
  for (let row = 0; row < N; row++) {
    if (includes && !includes[row]) continue;
    const value = numberIn(column, row);
    if (!Number.isNaN(value)) counts[Math.min(HISTOGRAM_BARS - 1, Math.floor(((value - low) / (high - low || 1)) * HISTOGRAM_BARS))]++;
  }
  return counts;
}

function rangeFilter(column) {
  const [low, high] = rangeOf(column), isDate = column.kind === "date", days = isDate && high - low >= 2 * SECONDS_PER_DAY;
  const unit = days ? SECONDS_PER_DAY : Number.isInteger(low) && Number.isInteger(high) && high - low <= 100000 ? 1 : (high - low) / 1000 || 1;
  // Dates are chosen by whole days: from the beginning of the first to the end of the last.
  const first = days ? Math.floor(low / unit) * unit : low, last = days ? Math.floor(high / unit) * unit : high;
  const range = { low: first, high: last };
  const slider = (name, which) => element("input", { type: "range", min: first, max: last, step: unit, value: range[which], "aria-label": `${column.name}: ${name}`, class: "handle", "data-end": which });
  const handles = { low: slider("from", "low"), high: slider("to", "high") };
  const exact = (name, which) => element("input", { type: isDate ? "date" : "number", step: "any", "aria-label": `${column.name}: ${name}, exactly`, "data-exact": which });
  const inputs = { low: exact("from", "low"), high: exact("to", "high") };
  const svg = svgElement("svg", { viewBox: `0 0 ${HISTOGRAM_BARS * 6} 44`, preserveAspectRatio: "none", "aria-hidden": "true", class: "histogram" });
  const bars = Array.from({ length: HISTOGRAM_BARS }, (_, i) => svgElement("rect", { x: i * 6 + 0.5, width: 5 }));
  svg.append(...bars);
  const asInput = (value) => (isDate ? new Date(value * 1000).toISOString().slice(0, 10) : String(Number(value.toPrecision(8))));
  const label = () => `${formatValue(column, range.low)} – ${formatValue(column, range.high)}`;
  let counts = [], largest = 1;
  function draw() {
    counts.forEach((count, i) => {
      const from = low + (i / HISTOGRAM_BARS) * (high - low), to = low + ((i + 1) / HISTOGRAM_BARS) * (high - low), h = count ? Math.max(1.5, (42 * count) / largest) : 0;
      bars[i].setAttribute("y", 44 - h);
      bars[i].setAttribute("height", h);
      bars[i].setAttribute("class", to >= range.low && from <= range.high + (days ? unit : 0) ? "in" : "out");
    });
    for (const end of ["low", "high"]) {
      handles[end].value = range[end];
      handles[end].setAttribute("aria-valuetext", formatValue(column, range[end]));
      if (document.activeElement !== inputs[end]) inputs[end].value = asInput(range[end]);
    }
  }
  function setRange(next) {
    Object.assign(range, next);
    if (range.low > range.high) Object.assign(range, { low: range.high, high: range.low });
    const whole = range.low <= first && range.high >= last, { low: from, high: to } = range, end = days ? to + unit : to;
    draw();
    setFilter(column, whole ? null : { test: (row) => { const value = numberIn(column, row); return value >= from && (days ? value < end : value <= end); }, label: label() });
  }
  for (const end of ["low", "high"]) {
    handles[end].addEventListener("input", () => {
      const value = Number(handles[end].value);
      setRange({ [end]: end === "low" ? Math.min(value, range.high) : Math.max(value, range.low) });
    });
    inputs[end].addEventListener("change", () => {
      const value = isDate ? Date.parse(inputs[end].value) / 1000 : Number(inputs[end].value);
      if (inputs[end].value !== "" && !Number.isNaN(value)) setRange({ [end]: Math.min(last, Math.max(first, value)) });
    });
  }
  // Drag over the histogram to choose a range.
  let dragged = null;
  const valueAt = (event) => {
    const box = svg.getBoundingClientRect(), value = low + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (high - low);
    return Math.min(last, Math.max(first, first + Math.round((value - first) / unit) * unit));
  };
  svg.addEventListener("pointerdown", (event) => { svg.setPointerCapture(event.pointerId); dragged = valueAt(event); });
  svg.addEventListener("pointermove", (event) => {
    if (dragged === null) return;
    const value = valueAt(event);
    setRange({ low: Math.min(dragged, value), high: Math.max(dragged, value) });
  });
  svg.addEventListener("pointerup", () => { dragged = null; });
  filterInputs.set(column, {
    update: () => { counts = histogramOf(column, passingOthers(column)); largest = Math.max(...counts, 1); draw(); },
    reset: () => { Object.assign(range, { low: first, high: last }); draw(); },
  });
  return [element("div", { class: "brush" }, svg, handles.low, handles.high), element("div", { class: "exact" }, inputs.low, "–", inputs.high)];
}

function textFilter(column) {
  let timer = 0;
  const input = element("input", { type: "search", placeholder: "contains…", "aria-label": `${column.name} contains`, oninput: () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const wanted = fold(input.value.trim());
      setFilter(column, wanted ? { test: (row) => fold(column.cells(row)).includes(wanted), label: `contains “${shorten(input.value.trim(), 30)}”` } : null);
    }, 200);
  } });
  filterInputs.set(column, { update: () => {}, reset: () => { input.value = ""; } });
  return [input];
}

// The inputs of a column, built when its part is opened first.
function filterSection(column, open) {
  const builders = { category: categoryFilter, number: rangeFilter, date: rangeFilter, text: textFilter };
  const section = element("details", { class: "filter", "data-column": column.name }, element("summary", {}, column.name, element("span", { class: "meta" }, { category: `${column.values?.length} values`, number: "number", date: "date", text: "text" }[column.kind])));
  const fill = () => {
    if (filterInputs.has(column) || !section.open) return;
    section.append(...builders[column.kind](column));
    filterInputs.get(column).update();
  };
  section.addEventListener("toggle", fill);
  section.open = open;
  fill();
  return section;
}

function drawChips() {
  const chips = [...state.filters.values()].map(({ column, label }) =>
    element("button", { type: "button", class: "chip", "aria-label": `Remove the filter ${column.name}: ${label}`, onclick: () => removeFilter(column) }, element("strong", {}, column.name), ` ${label} `, element("span", { "aria-hidden": "true" }, "×")));
  byId("chips").replaceChildren(...chips, chips.length ? element("span", { id: "passing", role: "status" }, `${formatCount(countPassing())} of ${formatTexts(N)}`) : "", chips.length > 1 ? actionButton("Clear all", clearFilters, { class: "quiet" }) : "");
  byId("chips").hidden = !chips.length;
  byId("show-filters").textContent = chips.length ? `Filters (${chips.length})` : "Filters";
}

function startFilters() {
  const opened = filterColumns.filter((column) => column.kind !== "text").slice(0, OPEN_COLUMNS);
  const sections = filterColumns.map((column) => filterSection(column, opened.includes(column)));
  const left = content.columns_left_out;
  byId("filters").replaceChildren(...sections, ...(left.length ? [element("p", { class: "meta", id: "left-out" }, `Left out, because this page would become too large: ${left.join(", ")}.`)] : []));
  const show = (filters) => {
    byId("filters").hidden = !filters;
    byId("cluster-list").hidden = filters;
    byId("show-clusters").setAttribute("aria-pressed", String(!filters));
    byId("show-filters").setAttribute("aria-pressed", String(filters));
  };
  byId("show-clusters").addEventListener("click", () => show(false));
  byId("show-filters").addEventListener("click", () => show(true));
  subscribe(() => { drawChips(); for (const { update } of filterInputs.values()) update(); });
  drawChips();
}
