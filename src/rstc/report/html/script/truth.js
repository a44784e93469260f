// The tab Truth: scores against true classes, the classes that are confused most, the confusion matrix as a canvas that
// can be zoomed, recall and precision of each class, and the calibration of the confidence.

const truthOptions = { cell: null, order: "matrix", sorting: { by: "texts", descending: true } };
const MAX_CONFUSIONS = 10; // sentences that are shown at once
const MIN_CELL = 6, MAX_CELL = 40; // pixels
const MAX_CANVAS = 8192; // device pixels at each side

// The classes with their matched clusters, recall and precision; class i is matched with cluster i of the matrix.
function classScores() {
  const { classes, clusters, matrix } = content.truth;
  const clusterTotals = clusters.map((_, j) => matrix.reduce((sum, row) => sum + row[j], 0));
  return classes.map((name, i) => {
    const texts = matrix[i].reduce((a, b) => a + b, 0), isMatched = i < clusters.length, hits = isMatched ? matrix[i][i] : 0;
    const recall = texts ? hits / texts : 0, precision = isMatched && clusterTotals[i] ? hits / clusterTotals[i] : 0;
    return { i, name: String(name), texts, cluster: isMatched ? clusters[i] : null, recall, precision, f1: recall + precision ? (2 * recall * precision) / (recall + precision) : 0 };
  });
}

// The largest cells off the diagonal, largest first.
function listConfusions() {
  const { clusters, matrix } = content.truth;
  return matrix.flatMap((row, i) => row.map((count, j) => ({ i, j, count }))).filter(({ i, j, count }) => i !== j && count > 0).sort((a, b) => b.count - a.count).map((one) => ({ ...one, cluster: clusters[one.j] }));
}

function describeConfusion(i, j) {
  const { classes, clusters, matrix } = content.truth, count = matrix[i][j], total = matrix[i].reduce((a, b) => a + b, 0);
  const verb = count === 1 ? "is" : "are", match = j < classes.length && i !== j ? `, which matches class “${classes[j]}”` : i === j ? ", the cluster it is matched with" : "";
  return { sentence: `${formatTexts(count)} of class “${classes[i]}” ${verb} in cluster “${isolate(nameOf(clusters[j]))}”${match}`, share: `${formatPercent(total ? count / total : 0)} of the class` };
}

// Rows and columns of the matrix in the chosen order; a cluster follows the class it is matched with.
function matrixOrder() {
  const { clusters } = content.truth, scores = classScores();
  const compare = { matrix: (a, b) => a.i - b.i, size: (a, b) => b.texts - a.texts, recall: (a, b) => a.recall - b.recall || a.i - b.i, name: (a, b) => a.name.localeCompare(b.name, "en", { numeric: true }) }[truthOptions.order];
  const rows = scores.sort(compare).map((score) => score.i), matched = rows.filter((i) => i < clusters.length);
  return { rows, columns: [...matched, ...clusters.map((_, j) => j).filter((j) => j >= rows.length)] };
}

function sizeCanvas(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, MAX_CANVAS / width, MAX_CANVAS / height);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  Object.assign(canvas.style, { width: width + "px", height: height + "px" });
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

// The matrix on three canvases: the cells, the names of the classes on the left and those of the clusters on top, of
// which the last two stay in place while the first is scrolled.
function confusionMatrix(width) {
  const { classes, clusters, matrix } = content.truth, order = matrixOrder(), isNarrow = width < 600;
  const left = isNarrow ? 96 : 190, top = isNarrow ? 90 : 130;
  const cell = () => truthOptions.cell ?? Math.max(MIN_CELL, Math.min(26, Math.floor((width - left - 20) / order.columns.length)));
  const cells = element("canvas", { tabindex: 0, id: "matrix-cells", role: "application", "aria-roledescription": "matrix", "aria-label": "Confusion matrix: arrow keys move from cell to cell, Enter lists the texts of the cluster. The lists beside it hold the same numbers." });
  const rowNames = element("canvas", { class: "row-names", "aria-hidden": "true" }), columnNames = element("canvas", { class: "column-names", "aria-hidden": "true" }), corner = element("div", { class: "corner" }, element("span", {}, "class ↓ cluster →"));
  const spoken = element("p", { class: "visually-hidden", role: "status", id: "matrix-cell" });
  const box = element("div", { class: "matrix-box" }, corner, columnNames, rowNames, cells);
  let current = null; // [row, column] in the order that is shown
  const draw = () => {
    const size = cell(), W = size * order.columns.length, H = size * order.rows.length, style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink"), faint = style.getPropertyValue("--line"), mark = style.getPropertyValue("--mark"), font = `${Math.max(9, Math.min(13, size - 2))}px system-ui, sans-serif`;
    Object.assign(box.style, { gridTemplateColumns: `${left}px ${W}px`, gridTemplateRows: `${top}px ${H}px` });
    const context = sizeCanvas(cells, W, H);
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.font = `${Math.min(12, size * 0.42)}px system-ui, sans-serif`;
    context.fillStyle = faint;
    for (let i = 0; i < order.rows.length; i += 1) if (size >= 9) context.fillRect(0, (i + 1) * size - 0.5, W, 0.5);
    for (let j = 0; j < order.columns.length; j += 1) if (size >= 9) context.fillRect((j + 1) * size - 0.5, 0, 0.5, H);
    order.rows.forEach((i, y) => {
      const total = Math.max(1, matrix[i].reduce((a, b) => a + b, 0));
      order.columns.forEach((j, x) => {
        const count = matrix[i][j];
        if (!count) return;
        context.fillStyle = toCss(i === j ? BLUE : ORANGE, 0.12 + 0.5 * Math.sqrt(count / total));
        context.fillRect(x * size, y * size, size - 0.5, size - 0.5);
        if (size < 18) return;
        context.fillStyle = ink;
        context.fillText(count > 999 && size < 30 ? `${Math.round(count / 1000)}k` : String(count), (x + 0.5) * size, (y + 0.5) * size, size - 2);
      });
    });
    if (current) {
      context.strokeStyle = mark;
      context.lineWidth = 2;
      context.strokeRect(current[1] * size + 1, current[0] * size + 1, size - 2, size - 2);
    }
    const every = Math.ceil(10 / size); // names are left out where there is no room
    const names = sizeCanvas(rowNames, left, H);
    Object.assign(names, { font, textAlign: "right", textBaseline: "middle" });
    order.rows.forEach((i, y) => {
      if (y % every && y !== current?.[0]) return;
      names.fillStyle = y === current?.[0] ? mark : ink;
      names.fillText(fitText(names, String(classes[i]), left - 10), left - 6, (y + 0.5) * size);
    });
    const heads = sizeCanvas(columnNames, W, top);
    Object.assign(heads, { font, textAlign: "left", textBaseline: "middle" });
    order.columns.forEach((j, x) => {
      if (x % every && x !== current?.[1]) return;
      heads.save();
      heads.translate((x + 0.5) * size, top - 4);
      heads.rotate(-Math.PI / 2);
      heads.fillStyle = x === current?.[1] ? mark : ink;
      heads.fillText(fitText(heads, nameOf(clusters[j]), top - 8), 0, 0);
      heads.restore();
    });
  };
  const lines = ([y, x]) => {
    const { sentence, share } = describeConfusion(order.rows[y], order.columns[x]);
    return [sentence, share];
  };
  const show = (position, px, py) => {
    current = position;
    draw();
    spoken.textContent = lines(position).join(", ");
    showPanelTip(px, py, lines(position));
  };
  const leave = () => {
    current = null;
    draw();
    hideTip();
  };
  const find = (event) => {
    const area = cells.getBoundingClientRect(), size = cell();
    const x = Math.floor((event.clientX - area.left) / size), y = Math.floor((event.clientY - area.top) / size);
    return x >= 0 && y >= 0 && x < order.columns.length && y < order.rows.length ? [y, x] : null;
  };
  const open = ([, x]) => openTexts(rowsOf(clusters[order.columns[x]]), nameOf(clusters[order.columns[x]]));
  cells.addEventListener("pointermove", (event) => {
    const position = find(event);
    if (!position) return leave();
    if (current?.join() !== position.join()) show(position, event.clientX, event.clientY);
  });
  cells.addEventListener("pointerleave", leave);
  cells.addEventListener("blur", leave);
  cells.addEventListener("click", (event) => { if (find(event)) open(find(event)); });
  cells.addEventListener("keydown", (event) => {
    const [y, x] = current ?? [0, -1], step = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if ((event.key === "Enter" || event.key === " ") && current) {
      event.preventDefault();
      return open(current);
    }
    if (event.key === "Escape") return leave();
    if (!step) return;
    event.preventDefault();
    const position = [Math.min(order.rows.length - 1, Math.max(0, y + step[0])), Math.min(order.columns.length - 1, Math.max(0, x + step[1]))], size = cell(), area = cells.getBoundingClientRect();
    show(position, area.left + (position[1] + 1) * size, area.top + (position[0] + 1) * size);
  });
  const zoom = element("input", { type: "range", min: MIN_CELL, max: MAX_CELL, step: 1, id: "matrix-zoom", "data-key": "matrix-zoom", "aria-label": "Size of the cells in pixels", oninput: () => { truthOptions.cell = Number(zoom.value); draw(); } });
  zoom.value = cell();
  const orders = element("select", { "data-key": "matrix-order", onchange: () => { truthOptions.order = orders.value; redrawPanel(); } },
    ...Object.entries({ matrix: "best matching", size: "size of the class", recall: "recall, lowest first", name: "name" }).map(([value, label]) => element("option", { value }, label)));
  orders.value = truthOptions.order;
  draw();
  return [
    element("div", { class: "bar" }, element("label", { class: "pick" }, "Order ", orders), element("label", { class: "pick" }, "Zoom ", zoom)),
    element("div", { class: "scroll tall matrix-scroll" }, box), spoken];
}

// A text, cut with an ellipsis to a width in pixels.
function fitText(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + "…").width <= width) low = middle;
    else high = middle - 1;
  }
  return text.slice(0, low).trimEnd() + "…";
}

function confusionList(confusions) {
  return element("ol", { class: "findings" }, ...confusions.map(({ i, j, cluster }) => {
    const { sentence, share } = describeConfusion(i, j);
    return element("li", {}, `${sentence} (${share}). `, state.clusters.has(cluster) ? element("button", { type: "button", class: "link", "data-key": `confusion-${i}-${j}`, onclick: () => openClusterTexts(cluster) }, "Read the cluster") : null);
  }));
}

function classTable() {
  const { sorting } = truthOptions, scores = classScores();
  const value = (score) => (sorting.by === "cluster" ? (score.cluster === null ? "" : nameOf(score.cluster)) : score[sorting.by]);
  scores.sort((a, b) => (sorting.descending ? 1 : -1) * (typeof value(a) === "string" ? value(a).localeCompare(value(b), "en", { numeric: true }) : value(b) - value(a)) || a.i - b.i);
  const meter = (share) => {
    const bar = element("span", { class: "meter", "aria-hidden": "true" }, element("span", {}));
    bar.firstChild.style.width = `${100 * share}%`;
    return element("td", { class: "number" }, bar, formatPercent(share));
  };
  const head = element("tr", {}, sortHeading("Class", "name", sorting), sortHeading("Texts", "texts", sorting, { class: "number" }), sortHeading("Matched cluster", "cluster", sorting), ...[["Recall", "recall"], ["Precision", "precision"], ["F1", "f1"]].map(([label, by]) => sortHeading(label, by, sorting, { class: "number" })));
  const rows = scores.map((score) => element("tr", {}, element("th", { scope: "row" }, score.name), element("td", { class: "number" }, formatCount(score.texts)), element("td", {}, score.cluster === null ? "none" : nameOf(score.cluster)), meter(score.recall), meter(score.precision), meter(score.f1)));
  return element("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Recall and precision of each class" }, element("table", { id: "class-table", class: "scores" }, element("thead", {}, head), element("tbody", {}, ...rows)));
}

function drawTruth(panel) {
  const { acc, nmi, ari, column, classes, clusters } = content.truth, confusions = listConfusions();
  const more = confusions.slice(MAX_CONFUSIONS, MAX_CONFUSIONS * 5);
  panel.replaceChildren(...[
    element("h2", {}, "Comparison with the true classes"),
    element("p", { class: "lead" }, `ACC ${formatPercent(acc)}, NMI ${formatPercent(nmi)}, ARI ${formatPercent(ari)}, for the clusters without corrections: ${formatCount(classes.length)} classes of column “${column}”, ${formatCount(clusters.length)} clusters.`),
    element("p", { class: "meta" }, "ACC is the share of texts whose class is matched with their cluster, by the best matching. The classes were not used for clustering."),
    element("h3", {}, "Most frequent confusions"),
    confusions.length ? confusionList(confusions.slice(0, MAX_CONFUSIONS)) : element("p", {}, "There is none."),
    more.length ? foldable("confusions", `${formatCount(more.length)} more`, () => confusionList(more)) : null,
    element("h3", {}, "Confusion matrix"),
    element("p", { class: "meta" }, "Rows are classes, columns are clusters. Blue cells are on the diagonal, where the best matches are; orange cells are confusions; darker is a larger share of the class."),
    ...confusionMatrix(Math.min(panel.clientWidth - 32, 1500)),
    element("h3", {}, "Classes"),
    classTable(),
    ...(content.truth.calibration ? calibrationFigures(content.truth.calibration) : []),
  ].filter(Boolean));
}
