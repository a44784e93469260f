// The view of the map: positions fitted to the canvas, zoom and movement, and the points near the pointer.
//
// The layout is turned by the angle, and stretched by at most MAX_STRETCH, that fill the canvas best. Positions u and v
// are then from 0 to 1 across the canvas without its margins. Points far outside are drawn in the margins.

const map = { canvas: byId("map"), zoom: 1, centre: [0.5, 0.5], angle: null, aspect: 0, size: [0, 0], u: new Float32Array(N), v: new Float32Array(N), drawing: false, fitted: 0 };
const GRID_CELLS = 256; // per side of the grid that finds the point under the pointer
const MARGIN = 0.045; // share of the canvas beside the points
const MAX_STRETCH = 1.7;
const MAX_ZOOM = 200;
const EDGE_QUANTILE = 0.01; // points beyond these quantiles and EDGE_ROOM do not decide on the fit
const EDGE_ROOM = 0.12;
const FIT_POINTS = 4000; // that decide on the fit
const NEW_ANGLE_ASPECT = 1.35; // change of the canvas's aspect from which on the map may turn

// The size of the canvas in the page's pixels; measured when it changes, because measuring is slow.
const measured = { width: 0, height: 0 };
const canvasSize = () => measured;

function measureCanvas() {
  Object.assign(measured, { width: map.canvas.clientWidth, height: map.canvas.clientHeight });
}

// The range of some values without those far outside.
function robustRange(values) {
  const sorted = values.slice().sort(), last = sorted.length - 1;
  const low = sorted[Math.floor(EDGE_QUANTILE * last)], high = sorted[Math.ceil((1 - EDGE_QUANTILE) * last)];
  const room = EDGE_ROOM * (high - low);
  const range = [Math.max(sorted[0], low - room), Math.min(sorted[last], high + room)];
  return range[1] - range[0] > 0 ? range : [range[0] - 1, range[1] + 1];
}

// The ranges of the layout turned by an angle, and how it fills a canvas of some aspect.
function tryAngle(angle, aspect) {
  const step = Math.max(1, Math.floor(N / FIT_POINTS)), n = Math.ceil(N / step);
  const a = new Float32Array(n), b = new Float32Array(n), [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  for (let i = 0; i < n; i++) {
    const row = Math.min(N - 1, i * step);
    a[i] = points.x[row] * cos - points.y[row] * sin;
    b[i] = points.x[row] * sin + points.y[row] * cos;
  }
  const [ranges0, ranges1] = [robustRange(a), robustRange(b)];
  const shape = (ranges0[1] - ranges0[0]) / (ranges1[1] - ranges1[0]), wanted = aspect / shape; // > 1: too narrow
  const stretch = Math.min(MAX_STRETCH, Math.max(1 / MAX_STRETCH, wanted)), filled = Math.min(wanted / stretch, stretch / wanted);
  return { angle, ranges: [ranges0, ranges1], stretch, filled: wanted > stretch ? [filled, 1] : [1, filled], score: filled - 0.15 * Math.abs(Math.log(stretch)) - (angle ? 0.03 : 0) };
}

// Pull values outside of 0 to 1 into a narrow edge, in their order.
function limitToEdge(value) {
  const edge = MARGIN * 0.7;
  if (value < 0) return -edge * (1 - Math.exp(value / edge));
  return value > 1 ? 1 + edge * (1 - Math.exp((1 - value) / edge)) : value;
}

function fitMap() {
  const { width, height } = canvasSize();
  if (!width || !height || (map.size[0] === width && map.size[1] === height)) return;
  map.size = [width, height];
  const aspect = width / height, change = Math.max(aspect / map.aspect, map.aspect / aspect);
  if (!N) return;
  if (map.angle === null || change > NEW_ANGLE_ASPECT) {
    const tried = Array.from({ length: 12 }, (_, i) => tryAngle((i * Math.PI) / 12, aspect));
    Object.assign(map, { angle: tried.reduce((best, other) => (other.score > best.score ? other : best)).angle, aspect });
  }
  const { angle, ranges: [[a0, a1], [b0, b1]], filled } = tryAngle(map.angle, aspect), [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  for (let row = 0; row < N; row++) {
    const a = points.x[row] * cos - points.y[row] * sin, b = points.x[row] * sin + points.y[row] * cos;
    map.u[row] = 0.5 + (limitToEdge((a - a0) / (a1 - a0)) - 0.5) * filled[0];
    map.v[row] = 0.5 + (limitToEdge((b - b0) / (b1 - b0)) - 0.5) * filled[1];
  }
  map.fitted++; // what is computed from the positions is computed again
  grid = buildGrid();
}

// Points by grid cell: the rows of cell c are order[starts[c]] to order[starts[c + 1] - 1].
let grid = null;

const gridCell = (value) => Math.min(GRID_CELLS - 1, Math.max(0, Math.floor(((value + MARGIN) / (1 + 2 * MARGIN)) * GRID_CELLS)));

function buildGrid() {
  const cell = (row) => gridCell(map.v[row]) * GRID_CELLS + gridCell(map.u[row]);
  const starts = new Uint32Array(GRID_CELLS * GRID_CELLS + 1);
  for (let row = 0; row < N; row++) starts[cell(row) + 1]++;
  for (let i = 0; i < GRID_CELLS * GRID_CELLS; i++) starts[i + 1] += starts[i];
  const next = starts.slice(), order = new Uint32Array(N);
  for (let row = 0; row < N; row++) order[next[cell(row)]++] = row;
  return { starts, order };
}

// Pixels of the canvas per unit of u and v, and the pixel of u = v = 0.
function mapScale() {
  const { width, height } = canvasSize(), inner = 1 - 2 * MARGIN;
  const scale = [width * inner * map.zoom, height * inner * map.zoom];
  return { scale, origin: [width / 2 - map.centre[0] * scale[0], height / 2 - map.centre[1] * scale[1]] };
}

function toCanvas(u, v) {
  const { scale, origin } = mapScale();
  return [u * scale[0] + origin[0], v * scale[1] + origin[1]];
}

function toMap(px, py) {
  const { scale, origin } = mapScale();
  return [(px - origin[0]) / scale[0], (py - origin[1]) / scale[1]];
}

const placeOfRow = (row) => toCanvas(map.u[row], map.v[row]);

function nearestRow(px, py, reach = 10) {
  if (!grid) return -1;
  const { scale } = mapScale(), [u, v] = toMap(px, py);
  let best = -1, bestDistance = reach * reach;
  for (let cv = gridCell(v - reach / scale[1]); cv <= gridCell(v + reach / scale[1]); cv++) {
    for (let cu = gridCell(u - reach / scale[0]); cu <= gridCell(u + reach / scale[0]); cu++) {
      const c = cv * GRID_CELLS + cu;
      for (let i = grid.starts[c]; i < grid.starts[c + 1]; i++) {
        const row = grid.order[i], distance = ((map.u[row] - u) * scale[0]) ** 2 + ((map.v[row] - v) * scale[1]) ** 2;
        if (distance <= bestDistance) [best, bestDistance] = [row, distance];
      }
    }
  }
  return best;
}

// The nearest point to the right of, left of, below or above another one, for the arrow keys.
function nextRow(from, dx, dy) {
  const [px, py] = from < 0 ? [map.size[0] / 2, map.size[1] / 2] : placeOfRow(from);
  let best = -1, bestCost = Infinity;
  for (let row = 0; row < N; row++) {
    if (row === from || !passes(row)) continue;
    const [x, y] = placeOfRow(row), along = (x - px) * dx + (y - py) * dy, aside = Math.abs((x - px) * dy) + Math.abs((y - py) * dx);
    const cost = from < 0 ? Math.hypot(x - px, y - py) : along > 0.5 ? along + 2 * aside : Infinity;
    if (cost < bestCost) [best, bestCost] = [row, cost];
  }
  return best;
}

function zoomBy(factor, px, py) {
  const { width, height } = canvasSize(), at = [px ?? width / 2, py ?? height / 2], before = toMap(...at);
  map.zoom = Math.min(MAX_ZOOM, Math.max(0.6, map.zoom * factor));
  const after = toMap(...at);
  map.centre = map.centre.map((value, axis) => value + before[axis] - after[axis]);
  moveView();
}

function moveBy(dx, dy) {
  const { scale } = mapScale();
  map.centre = [map.centre[0] - dx / scale[0], map.centre[1] - dy / scale[1]];
  moveView();
}

function showWholeMap() {
  Object.assign(map, { zoom: 1, centre: [0.5, 0.5] });
  moveView();
}

// Draw the map at its new place; names are placed anew when the movement ends.
const SETTLE_MILLISECONDS = 140;
let settleTimer = 0;

function moveView() {
  clearTimeout(settleTimer);
  settleTimer = setTimeout(() => { forgetLabels(); redraw(); }, SETTLE_MILLISECONDS);
  redraw();
}

function redraw() {
  if (map.drawing) return;
  map.drawing = true;
  requestAnimationFrame(drawMap);
}
