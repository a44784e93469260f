// The map: every text a point on a canvas, drawn into its pixels at once, so that hundreds of thousands stay smooth.

const map = { canvas: byId("map"), zoom: 1, left: 0, top: 0, lasso: null, drawing: false, hover: -1 };
const CELLS = 256; // of the grid by which the point under the pointer is found
const STILL_A_CLICK = 4; // pixels that a pointer may move
const EDGE = 0.04; // of the map that stays free around the points

// Points by grid cell: the rows of cell c are order[starts[c]] to order[starts[c + 1] - 1].
const grid = (() => {
  const cell = (row) => (points.y[row] >> 8) * CELLS + (points.x[row] >> 8);
  const starts = new Uint32Array(CELLS * CELLS + 1);
  for (let row = 0; row < N; row++) starts[cell(row) + 1]++;
  for (let i = 0; i < CELLS * CELLS; i++) starts[i + 1] += starts[i];
  const next = starts.slice(), order = new Uint32Array(N);
  for (let row = 0; row < N; row++) order[next[cell(row)]++] = row;
  return { starts, order };
})();

function size() {
  return { width: map.canvas.clientWidth, height: map.canvas.clientHeight };
}

// From the map (0 to 65535 each way) to the canvas and back.
function scale() {
  const { width, height } = size();
  return (Math.min(width, height) * (1 - 2 * EDGE) * map.zoom) / 65535;
}

function toCanvas(x, y) {
  const { width, height } = size(), s = scale();
  return [width / 2 + (x - 32768 - map.left) * s, height / 2 + (y - 32768 - map.top) * s];
}

function toMap(px, py) {
  const { width, height } = size(), s = scale();
  return [(px - width / 2) / s + 32768 + map.left, (py - height / 2) / s + 32768 + map.top];
}

// Which texts stand out: those that were searched for or drawn around, or a selected cluster's. None: all alike.
let litRows; // found again when something changes
listen(() => { litRows = undefined; });

function lit() {
  if (litRows !== undefined) return litRows;
  if (state.rows === null && state.selected === null) return (litRows = null);
  litRows = new Uint8Array(N);
  if (state.rows) for (const row of state.rows) litRows[row] = 1;
  else for (let row = 0; row < N; row++) litRows[row] = state.cluster[row] === state.selected ? 1 : 0;
  return litRows;
}

// Colours as the canvas keeps them in a pixel, that of no cluster last.
const STRONG = 235, FAINT = 64; // of 255
function pixelColours(opacity) {
  const all = [...Array.from({ length: COLOURS }, (_, i) => colourOf(i)), GREY];
  return Uint32Array.from(all, ([r, g, b]) => ((opacity << 24) | (b << 16) | (g << 8) | r) >>> 0);
}

// How many pixels stay free at either end of each row of a disc.
function discOf(big) {
  const radius = big / 2;
  return Array.from({ length: big }, (_, j) => Math.round(radius - Math.sqrt(Math.max(0, radius ** 2 - (j + 0.5 - radius) ** 2))));
}

function drawMap() {
  map.drawing = false;
  const { width, height } = size();
  if (!width || !height) return;
  const ratio = window.devicePixelRatio || 1;
  const W = Math.round(width * ratio), H = Math.round(height * ratio);
  if (map.canvas.width !== W || map.canvas.height !== H) Object.assign(map.canvas, { width: W, height: H });
  const pen = map.canvas.getContext("2d");
  const picture = pen.createImageData(W, H), pixels = new Uint32Array(picture.data.buffer);
  const wide = Math.max(1, Math.min(9 * ratio, (ratio * 90 * Math.sqrt(map.zoom)) / Math.sqrt(Math.max(N, 200)) + ratio));
  const big = Math.round(wide), spans = discOf(big), on = lit();
  // All that does not change from point to point is taken out of the loop: it runs for hundreds of thousands.
  const s = scale() * ratio, left0 = W / 2 - (32768 + map.left) * s - big / 2, top0 = H / 2 - (32768 + map.top) * s - big / 2;
  const { x, y } = points, { cluster } = state;
  for (const strong of on ? [0, 1] : [1]) {
    const colours = pixelColours(on && !strong ? FAINT : STRONG);
    for (let row = 0; row < N; row++) {
      if (on && on[row] !== strong) continue;
      const left = Math.round(x[row] * s + left0), top = Math.round(y[row] * s + top0);
      if (left < 0 || top < 0 || left + big >= W || top + big >= H) continue;
      const colour = colours[cluster[row] === NONE ? COLOURS : cluster[row] % COLOURS];
      for (let j = 0; j < big; j++) {
        const from = (top + j) * W + left, end = from + big - spans[j];
        for (let pixel = from + spans[j]; pixel < end; pixel++) pixels[pixel] = colour;
      }
    }
  }
  pen.putImageData(picture, 0, 0);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  drawNames(pen);
  if (map.lasso) drawLasso(pen);
}

// Where a cluster's name stands: at the median of its points, which few strays do not move.
function places() {
  const members = new Map();
  for (let row = 0; row < N; row++) {
    const cluster = state.cluster[row];
    if (cluster === NONE) continue;
    if (!members.has(cluster)) members.set(cluster, []);
    members.get(cluster).push(row);
  }
  const middle = (values) => values.sort()[values.length >> 1];
  return [...members].map(([cluster, rows]) => ({
    cluster,
    size: rows.length,
    x: middle(Uint16Array.from(rows, (row) => points.x[row])),
    y: middle(Uint16Array.from(rows, (row) => points.y[row])),
  })).sort((a, b) => b.size - a.size);
}

let namePlaces = null; // found again when the clusters change
listen(() => { namePlaces = null; });

function drawNames(pen) {
  namePlaces ??= places();
  const style = getComputedStyle(document.documentElement);
  pen.font = "600 12px system-ui, sans-serif";
  pen.textAlign = "center";
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  pen.strokeStyle = style.getPropertyValue("--back");
  pen.fillStyle = style.getPropertyValue("--ink");
  const taken = [];
  for (const { cluster, x, y } of namePlaces) {
    if (state.selected !== null && cluster !== state.selected) continue;
    const name = nameOf(cluster), short = name.length > 28 ? name.slice(0, 27) + "…" : name;
    const half = pen.measureText(short).width / 2 + 4, [at, py] = toCanvas(x, y), { width } = size();
    if (at < 0 || at > width) continue;
    const px = Math.min(Math.max(at, half), width - half); // a name at the edge stays readable
    if (taken.some(([l, r, t]) => px - half < r && px + half > l && Math.abs(py - t) < 16)) continue;
    taken.push([px - half, px + half, py]);
    pen.strokeText(short, px, py);
    pen.fillText(short, px, py);
  }
}

function drawLasso(pen) {
  pen.beginPath();
  for (const [px, py] of map.lasso) pen.lineTo(px, py);
  pen.closePath();
  pen.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--mark");
  pen.lineWidth = 1.5;
  pen.stroke();
}

function redraw() {
  if (map.drawing) return;
  map.drawing = true;
  requestAnimationFrame(drawMap);
}

function nearestRow(px, py, reach = 10) {
  const [x, y] = toMap(px, py), far = reach / scale();
  const cell = (value) => Math.min(CELLS - 1, Math.max(0, Math.floor(value) >> 8));
  let best = -1, distance = far * far;
  for (let cy = cell(y - far); cy <= cell(y + far); cy++) {
    for (let cx = cell(x - far); cx <= cell(x + far); cx++) {
      const c = cy * CELLS + cx;
      for (let i = grid.starts[c]; i < grid.starts[c + 1]; i++) {
        const row = grid.order[i], d = (points.x[row] - x) ** 2 + (points.y[row] - y) ** 2;
        if (d <= distance) [best, distance] = [row, d];
      }
    }
  }
  return best;
}

function zoomBy(factor, px, py) {
  const { width, height } = size();
  const [x, y] = toMap(px ?? width / 2, py ?? height / 2);
  map.zoom = Math.min(200, Math.max(0.5, map.zoom * factor));
  const [x2, y2] = toMap(px ?? width / 2, py ?? height / 2);
  map.left += x - x2;
  map.top += y - y2;
  redraw();
}

function moveBy(dx, dy) {
  map.left -= dx / scale();
  map.top -= dy / scale();
  redraw();
}

function inside(polygon, px, py) {
  let odd = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i], [xj, yj] = polygon[j];
    if (yi > py !== yj > py && px < ((xj - xi) * (py - yi)) / (yj - yi) + xi) odd = !odd;
  }
  return odd;
}

function drawnAround() {
  const around = map.lasso.map(([px, py]) => toMap(px, py)), rows = [];
  for (let row = 0; row < N; row++) if (inside(around, points.x[row], points.y[row])) rows.push(row);
  return rows;
}

function showTip(row, px, py) {
  const tip = byId("tip");
  tip.hidden = row < 0;
  if (row < 0) return;
  const said = text(row);
  tip.replaceChildren(element("strong", {}, nameOf(state.cluster[row])), element("div", {}, said.length > 240 ? said.slice(0, 239) + "…" : said));
  const { width, height } = size();
  tip.style.left = Math.min(px + 12, width - tip.offsetWidth - 4) + "px";
  tip.style.top = Math.min(py + 12, height - tip.offsetHeight - 4) + "px";
}

function startMap() {
  const { canvas } = map, held = new Map();
  let from = null, apart = 0; // where the pointer went down, until it has moved too far for a click
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    showTip(-1);
    zoomBy(Math.exp(-event.deltaY / 400), ...place(event));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, place(event));
    from = place(event);
    showTip(-1);
    if (byId("lasso").getAttribute("aria-pressed") === "true") map.lasso = [place(event)];
  });
  canvas.addEventListener("pointermove", (event) => {
    const [px, py] = place(event), before = held.get(event.pointerId);
    if (!before) return showTip(nearestRow(px, py), px, py);
    held.set(event.pointerId, [px, py]);
    if (held.size === 2) {
      const [a, b] = [...held.values()], now = Math.hypot(a[0] - b[0], a[1] - b[1]);
      if (apart) zoomBy(now / apart, (a[0] + b[0]) / 2, (a[1] + b[1]) / 2);
      apart = now;
      from = null;
    } else if (map.lasso) {
      map.lasso.push([px, py]);
      redraw();
    } else {
      if (from && Math.hypot(px - from[0], py - from[1]) > STILL_A_CLICK) from = null;
      if (from) return held.set(event.pointerId, before);
      moveBy(px - before[0], py - before[1]);
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    held.delete(event.pointerId);
    apart = 0;
    if (map.lasso) {
      const rows = drawnAround();
      map.lasso = null;
      showRows(rows, texts(rows.length));
      return;
    }
    if (!from) return;
    const row = nearestRow(...place(event));
    if (row >= 0) readText(row);
    else select(null);
  });
  canvas.addEventListener("pointercancel", () => {
    held.clear();
    Object.assign(map, { lasso: null });
    [from, apart] = [null, 0];
    redraw();
  });
  canvas.addEventListener("pointerleave", () => showTip(-1));
  canvas.addEventListener("keydown", (event) => {
    const does = {
      ArrowLeft: () => moveBy(60, 0), ArrowRight: () => moveBy(-60, 0),
      ArrowUp: () => moveBy(0, 60), ArrowDown: () => moveBy(0, -60),
      "+": () => zoomBy(1.4), "=": () => zoomBy(1.4), "-": () => zoomBy(1 / 1.4), 0: wholeMap,
    }[event.key];
    if (!does) return;
    event.preventDefault();
    does();
  });
  byId("zoom-in").addEventListener("click", () => zoomBy(1.5));
  byId("zoom-out").addEventListener("click", () => zoomBy(1 / 1.5));
  byId("zoom-all").addEventListener("click", wholeMap);
  byId("lasso").addEventListener("click", (event) => {
    const on = event.currentTarget.getAttribute("aria-pressed") !== "true";
    event.currentTarget.setAttribute("aria-pressed", on);
    canvas.classList.toggle("lasso", on);
  });
  new ResizeObserver(redraw).observe(canvas);
  listen(redraw);
  redraw();
}

function wholeMap() {
  Object.assign(map, { zoom: 1, left: 0, top: 0 });
  redraw();
}
