// The map: every text is a point, drawn directly into the pixels of a canvas, which is fast for hundreds of thousands.

const map = { canvas: byId("map"), zoom: 1, left: 0, top: 0, lasso: null, drawing: false, hover: -1 };
const GRID_CELLS = 256; // per side of the grid that finds the point under the pointer
const MAX_CLICK_MOVE = 4; // pixels that the pointer may move during a click
const MARGIN = 0.04; // share of the canvas around the points

// Points by grid cell: the rows of cell c are order[starts[c]] to order[starts[c + 1] - 1].
const grid = (() => {
  const cell = (row) => (points.y[row] >> 8) * GRID_CELLS + (points.x[row] >> 8);
  const starts = new Uint32Array(GRID_CELLS * GRID_CELLS + 1);
  for (let row = 0; row < N; row++) starts[cell(row) + 1]++;
  for (let i = 0; i < GRID_CELLS * GRID_CELLS; i++) starts[i + 1] += starts[i];
  const next = starts.slice(), order = new Uint32Array(N);
  for (let row = 0; row < N; row++) order[next[cell(row)]++] = row;
  return { starts, order };
})();

function canvasSize() {
  return { width: map.canvas.clientWidth, height: map.canvas.clientHeight };
}

// Convert between map coordinates (0 to 65535) and canvas pixels.
function mapScale() {
  const { width, height } = canvasSize();
  return (Math.min(width, height) * (1 - 2 * MARGIN) * map.zoom) / 65535;
}

function toCanvas(x, y) {
  const { width, height } = canvasSize(), s = mapScale();
  return [width / 2 + (x - 32768 - map.left) * s, height / 2 + (y - 32768 - map.top) * s];
}

function toMap(px, py) {
  const { width, height } = canvasSize(), s = mapScale();
  return [(px - width / 2) / s + 32768 + map.left, (py - height / 2) / s + 32768 + map.top];
}

// Mark the texts to highlight: those of the lasso, the search or the selected cluster; null highlights none.
let highlighted; // undefined until it is computed
subscribe(() => { highlighted = undefined; });

function highlightedRows() {
  if (highlighted !== undefined) return highlighted;
  if (state.rows === null && state.selected === null) return (highlighted = null);
  highlighted = new Uint8Array(N);
  if (state.rows) for (const row of state.rows) highlighted[row] = 1;
  else for (const row of rowsOf(state.selected)) highlighted[row] = 1;
  return highlighted;
}

// Colours of the shown clusters as 32-bit pixels.
const OPAQUE = 235, FAINT = 64; // of 255
function pixelColours(opacity) {
  return Uint32Array.from(shownIndex().ids.map(colourOf), ([r, g, b]) => ((opacity << 24) | (b << 16) | (g << 8) | r) >>> 0);
}

// The number of empty pixels at either end of each row of a disc.
function discMargins(diameter) {
  const radius = diameter / 2;
  return Array.from({ length: diameter }, (_, j) => Math.round(radius - Math.sqrt(Math.max(0, radius ** 2 - (j + 0.5 - radius) ** 2))));
}

function drawMap() {
  map.drawing = false;
  const { width, height } = canvasSize();
  if (!width || !height) return;
  const ratio = window.devicePixelRatio || 1;
  const W = Math.round(width * ratio), H = Math.round(height * ratio);
  if (map.canvas.width !== W || map.canvas.height !== H) Object.assign(map.canvas, { width: W, height: H });
  const context = map.canvas.getContext("2d");
  const image = context.createImageData(W, H), pixels = new Uint32Array(image.data.buffer);
  const pointWidth = Math.max(1, Math.min(9 * ratio, (ratio * 90 * Math.sqrt(map.zoom)) / Math.sqrt(Math.max(N, 200)) + ratio));
  const diameter = Math.round(pointWidth), margins = discMargins(diameter), marks = highlightedRows();
  // The loop runs for hundreds of thousands of points: whatever does not depend on the point is computed before it.
  const s = mapScale() * ratio, left0 = W / 2 - (32768 + map.left) * s - diameter / 2, top0 = H / 2 - (32768 + map.top) * s - diameter / 2;
  const { x, y } = points, { ofRow } = shownIndex();
  for (const mark of marks ? [0, 1] : [1]) {
    const colours = pixelColours(marks && !mark ? FAINT : OPAQUE);
    for (let row = 0; row < N; row++) {
      if (marks && marks[row] !== mark) continue;
      const left = Math.round(x[row] * s + left0), top = Math.round(y[row] * s + top0);
      if (left < 0 || top < 0 || left + diameter >= W || top + diameter >= H) continue;
      const colour = colours[ofRow[row]];
      for (let j = 0; j < diameter; j++) {
        const start = (top + j) * W + left, end = start + diameter - margins[j];
        for (let pixel = start + margins[j]; pixel < end; pixel++) pixels[pixel] = colour;
      }
    }
  }
  context.putImageData(image, 0, 0);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawNames(context);
  if (map.lasso) drawLasso(context);
}

// The position of each cluster's name: the median of its points, which outliers do not move.
function namePositions() {
  const members = new Map(), shown = shownClusters();
  for (let row = 0; row < N; row++) {
    const cluster = shown[row];
    if (cluster === NO_CLUSTER) continue;
    if (!members.has(cluster)) members.set(cluster, []);
    members.get(cluster).push(row);
  }
  const median = (values) => values.sort()[values.length >> 1];
  return [...members].map(([cluster, rows]) => ({
    cluster,
    size: rows.length,
    x: median(Uint16Array.from(rows, (row) => points.x[row])),
    y: median(Uint16Array.from(rows, (row) => points.y[row])),
  })).sort((a, b) => b.size - a.size);
}

let positions = null; // null until they are computed
subscribe(() => { positions = null; });

function drawNames(context) {
  positions ??= namePositions();
  const style = getComputedStyle(document.documentElement);
  context.font = "600 12px system-ui, sans-serif";
  context.textAlign = "center";
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeStyle = style.getPropertyValue("--back");
  context.fillStyle = style.getPropertyValue("--ink");
  const taken = [];
  for (const { cluster, x, y } of positions) {
    if (state.selected !== null && cluster !== state.selected) continue;
    const name = clusterName(cluster), short = name.length > 28 ? name.slice(0, 27) + "…" : name;
    const half = context.measureText(short).width / 2 + 4, [centre, py] = toCanvas(x, y), { width } = canvasSize();
    if (centre < 0 || centre > width) continue;
    const px = Math.min(Math.max(centre, half), width - half); // keep names at the edge readable
    if (taken.some(([l, r, t]) => px - half < r && px + half > l && Math.abs(py - t) < 16)) continue;
    taken.push([px - half, px + half, py]);
    context.strokeText(short, px, py);
    context.fillText(short, px, py);
  }
}

function drawLasso(context) {
  context.beginPath();
  for (const [px, py] of map.lasso) context.lineTo(px, py);
  context.closePath();
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--mark");
  context.lineWidth = 1.5;
  context.stroke();
}

function redraw() {
  if (map.drawing) return;
  map.drawing = true;
  requestAnimationFrame(drawMap);
}

function nearestRow(px, py, reach = 10) {
  const [x, y] = toMap(px, py), radius = reach / mapScale();
  const cell = (value) => Math.min(GRID_CELLS - 1, Math.max(0, Math.floor(value) >> 8));
  let best = -1, bestDistance = radius * radius;
  for (let cy = cell(y - radius); cy <= cell(y + radius); cy++) {
    for (let cx = cell(x - radius); cx <= cell(x + radius); cx++) {
      const c = cy * GRID_CELLS + cx;
      for (let i = grid.starts[c]; i < grid.starts[c + 1]; i++) {
        const row = grid.order[i], distance = (points.x[row] - x) ** 2 + (points.y[row] - y) ** 2;
        if (distance <= bestDistance) [best, bestDistance] = [row, distance];
      }
    }
  }
  return best;
}

function zoomBy(factor, px, py) {
  const { width, height } = canvasSize();
  const [x, y] = toMap(px ?? width / 2, py ?? height / 2);
  map.zoom = Math.min(200, Math.max(0.5, map.zoom * factor));
  const [x2, y2] = toMap(px ?? width / 2, py ?? height / 2);
  map.left += x - x2;
  map.top += y - y2;
  redraw();
}

function moveBy(dx, dy) {
  map.left -= dx / mapScale();
  map.top -= dy / mapScale();
  redraw();
}

function isInside(polygon, px, py) {
  let odd = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i], [xj, yj] = polygon[j];
    if (yi > py !== yj > py && px < ((xj - xi) * (py - yi)) / (yj - yi) + xi) odd = !odd;
  }
  return odd;
}

function rowsInLasso() {
  const polygon = map.lasso.map(([px, py]) => toMap(px, py)), rows = [];
  for (let row = 0; row < N; row++) if (isInside(polygon, points.x[row], points.y[row])) rows.push(row);
  return rows;
}

function showTip(row, px, py) {
  const tip = byId("tip");
  tip.hidden = row < 0;
  if (row < 0) return;
  const text = textOf(row);
  tip.replaceChildren(element("strong", {}, clusterName(shownClusters()[row])), element("div", {}, text.length > 240 ? text.slice(0, 239) + "…" : text));
  const { width, height } = canvasSize();
  tip.style.left = Math.min(px + 12, width - tip.offsetWidth - 4) + "px";
  tip.style.top = Math.min(py + 12, height - tip.offsetHeight - 4) + "px";
}

function startMap() {
  const { canvas } = map, pointers = new Map(); // the positions of the pressed pointers, two on a touch screen
  let clickStart = null; // where the pointer was pressed, until it has moved too far for a click
  let pinchDistance = 0;
  const position = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    showTip(-1);
    zoomBy(Math.exp(-event.deltaY / 400), ...position(event));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, position(event));
    clickStart = position(event);
    showTip(-1);
    if (byId("lasso").getAttribute("aria-pressed") === "true") map.lasso = [position(event)];
  });
  canvas.addEventListener("pointermove", (event) => {
    const [px, py] = position(event), before = pointers.get(event.pointerId);
    if (!before) return showTip(nearestRow(px, py), px, py);
    pointers.set(event.pointerId, [px, py]);
    if (pointers.size === 2) {
      const [a, b] = [...pointers.values()], distance = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (pinchDistance) zoomBy(distance / pinchDistance, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      pinchDistance = distance;
      clickStart = null;
    } else if (map.lasso) {
      map.lasso.push([px, py]);
      redraw();
    } else {
      if (clickStart && Math.hypot(px - clickStart[0], py - clickStart[1]) > MAX_CLICK_MOVE) clickStart = null;
      if (clickStart) return pointers.set(event.pointerId, before);
      moveBy(px - before[0], py - before[1]);
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    pointers.delete(event.pointerId);
    pinchDistance = 0;
    if (map.lasso) {
      const rows = rowsInLasso();
      map.lasso = null;
      showRows(rows, formatTexts(rows.length));
      return;
    }
    if (!clickStart) return;
    const row = nearestRow(...position(event));
    if (row >= 0) showNeighbours(row);
    else select(null);
  });
  canvas.addEventListener("pointercancel", () => {
    pointers.clear();
    Object.assign(map, { lasso: null });
    [clickStart, pinchDistance] = [null, 0];
    redraw();
  });
  canvas.addEventListener("pointerleave", () => showTip(-1));
  canvas.addEventListener("keydown", (event) => {
    const action = {
      ArrowLeft: () => moveBy(60, 0), ArrowRight: () => moveBy(-60, 0),
      ArrowUp: () => moveBy(0, 60), ArrowDown: () => moveBy(0, -60),
      "+": () => zoomBy(1.4), "=": () => zoomBy(1.4), "-": () => zoomBy(1 / 1.4), 0: showWholeMap,
    }[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  byId("zoom-in").addEventListener("click", () => zoomBy(1.5));
  byId("zoom-out").addEventListener("click", () => zoomBy(1 / 1.5));
  byId("zoom-all").addEventListener("click", showWholeMap);
  byId("lasso").addEventListener("click", (event) => {
    const active = event.currentTarget.getAttribute("aria-pressed") !== "true";
    event.currentTarget.setAttribute("aria-pressed", active);
    canvas.classList.toggle("lasso", active);
  });
  new ResizeObserver(redraw).observe(canvas);
  subscribe(redraw);
  redraw();
}

function showWholeMap() {
  Object.assign(map, { zoom: 1, left: 0, top: 0 });
  redraw();
}
