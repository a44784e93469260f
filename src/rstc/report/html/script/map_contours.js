// Density contours of the clusters: the regions that hold half and most of each cluster's points.

const CONTOUR_CELLS = 150; // per side of the grid of densities, across the canvas
const CONTOUR_PAD = 12; // cells around it
const CONTOUR_SHARES = [0.86, 0.5]; // of a cluster's points that a contour holds
const MIN_CONTOUR_POINTS = 8;
const MIN_LEVEL = 0.12; // of the highest density
const MIN_ISLAND_SHARE = 0.04; // of a cluster's points; smaller islands are left out
const MIN_ISLAND_POINTS = 3;

let contours = null, contoursFitted = -1; // by cluster: { peak, paths }; null until they are computed
subscribe(() => { contours = null; });

function contoursNow() {
  if (!contours || contoursFitted !== map.fitted) {
    const keyed = clusterRows();
    contours = new Map([...keyed].map(([cluster, rows]) => [cluster, describeDensity(rows)]));
    contoursFitted = map.fitted;
  }
  return contours;
}

// The rows of each cluster that are shown: all, or those that pass the filters.
function clusterRows() {
  const members = new Map(), shown = shownClusters();
  for (let row = 0; row < N; row++) {
    const cluster = shown[row];
    if (cluster === NO_CLUSTER || !passes(row)) continue;
    if (!members.has(cluster)) members.set(cluster, []);
    members.get(cluster).push(row);
  }
  return members;
}

// Blur values along one axis by a Gaussian.
function blur(values, w, h, sigma, alongX) {
  const reach = Math.ceil(2.5 * sigma), weights = Array.from({ length: 2 * reach + 1 }, (_, i) => Math.exp(-0.5 * ((i - reach) / sigma) ** 2));
  const total = weights.reduce((sum, weight) => sum + weight), blurred = new Float32Array(w * h);
  for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) {
    const value = values[y * w + x];
    if (!value) continue;
    for (let i = -reach; i <= reach; i++) {
      const x2 = alongX ? x + i : x, y2 = alongX ? y : y + i;
      if (x2 >= 0 && x2 < w && y2 >= 0 && y2 < h) blurred[y2 * w + x2] += (value * weights[i + reach]) / total;
    }
  }
  return blurred;
}

// The density of some points on a grid around them: its peak, and the contours as paths in cells of the grid.
function describeDensity(rows) {
  const cell = (value) => Math.round(value * CONTOUR_CELLS);
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const row of rows) {
    const x = cell(map.u[row]), y = cell(map.v[row]);
    [x0, x1, y0, y1] = [Math.min(x0, x), Math.max(x1, x), Math.min(y0, y), Math.max(y1, y)];
  }
  const sigma = Math.min(3.4, 1.5 + 0.45 * rows.length ** 0.25), pad = Math.min(CONTOUR_PAD, Math.ceil(3 * sigma));
  const [left, top, w, h] = [x0 - pad, y0 - pad, x1 - x0 + 2 * pad + 1, y1 - y0 + 2 * pad + 1];
  const counts = new Float32Array(w * h), cells = Uint32Array.from(rows, (row) => (cell(map.v[row]) - top) * w + cell(map.u[row]) - left);
  for (const at of cells) counts[at]++;
  const density = blur(blur(counts, w, h, sigma, true), w, h, sigma, false);
  let peak = 0;
  for (let i = 1; i < density.length; i++) if (density[i] > density[peak]) peak = i;
  const place = (x, y) => [(x + left) / CONTOUR_CELLS, (y + top) / CONTOUR_CELLS];
  const sorted = Float32Array.from(cells, (at) => density[at]).sort();
  const paths = rows.length < MIN_CONTOUR_POINTS ? [] : CONTOUR_SHARES.map((share) => {
    // A cluster whose points are in one place except for a few is outlined where most of them are.
    const level = Math.max(MIN_LEVEL * density[peak], 0.92 * sorted[Math.floor((1 - share) * (sorted.length - 1))]);
    const wanted = Math.max(MIN_ISLAND_POINTS, MIN_ISLAND_SHARE * rows.length);
    const inside = (line) => cells.reduce((n, at) => n + isInside(line, at % w, Math.floor(at / w)), 0);
    return traceLevel(density, w, h, level).filter((line) => isHole(line) || inside(line) >= wanted).map((line) => line.map(([x, y]) => place(x, y)));
  });
  return { size: rows.length, peak: place(peak % w, Math.floor(peak / w)), paths };
}

// Trace the lines at which a grid of values crosses a level: marching squares, joined to closed lines.
function traceLevel(values, w, h, level) {
  const next = new Map(); // from the edge of a square to the edge where its line goes on
  const horizontal = (x, y) => 2 * (y * w + x), vertical = (x, y) => 2 * (y * w + x) + 1;
  for (let y = 0; y + 1 < h; y++) for (let x = 0; x + 1 < w; x++) {
    const at = y * w + x, a = values[at] >= level, b = values[at + 1] >= level, c = values[at + w + 1] >= level, d = values[at + w] >= level;
    if (a === b && b === c && c === d) continue;
    const corners = [a, b, c, d], edges = [horizontal(x, y), vertical(x + 1, y), horizontal(x, y + 1), vertical(x, y)];
    // The inside is to the right of a line: from the edge where it enters to the one where it leaves.
    for (let i = 0; i < 4; i++) {
      if (!corners[i] || corners[(i + 1) % 4]) continue;
      let j = i;
      do j = (j + 3) % 4; while (corners[j]);
      next.set(edges[i], edges[j]);
    }
  }
  const crossing = (edge) => {
    const at = edge >> 1, x = at % w, y = Math.floor(at / w), other = edge % 2 ? at + w : at + 1;
    const share = (level - values[at]) / (values[other] - values[at] || 1);
    return edge % 2 ? [x, y + share] : [x + share, y];
  };
  const lines = [];
  while (next.size) {
    const line = [];
    for (let edge = next.keys().next().value; next.has(edge); ) {
      line.push(crossing(edge));
      const following = next.get(edge);
      next.delete(edge);
      edge = following;
    }
    if (line.length > 3) lines.push(line);
  }
  return lines;
}

// Whether a line goes around a hole: its inside is to the right everywhere.
function isHole(line) {
  return line.reduce((sum, [x, y], i) => sum + x * line[(i + 1) % line.length][1] - line[(i + 1) % line.length][0] * y, 0) > 0;
}

function drawContours(context) {
  if (byId("contours").getAttribute("aria-pressed") !== "true") return;
  const { scale, origin } = mapScale(), strength = isDark() ? 0.95 : 1;
  for (const [cluster, { paths }] of contoursNow()) {
    if (state.selected !== null && cluster !== state.selected) continue;
    const colour = colouring.column ? themeColour("--faint") : colourOf(cluster), faint = state.rows ? 0.4 : 1;
    paths.forEach((lines, i) => {
      const path = new Path2D();
      for (const line of lines) {
        line.forEach(([u, v], k) => path[k ? "lineTo" : "moveTo"](u * scale[0] + origin[0], v * scale[1] + origin[1]));
        path.closePath();
      }
      context.fillStyle = toCss(colour, (colouring.column ? 0.035 : 0.085) * faint * strength);
      context.fill(path);
      if (i) return;
      context.strokeStyle = toCss(colour, 0.4 * faint);
      context.lineWidth = 1;
      context.stroke(path);
    });
  }
}
