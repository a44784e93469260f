// Names of clusters on the map, placed where they cover neither points nor each other.
//
// The largest cluster comes first. Each name takes the best of the places around the densest part of its cluster: one with
// few points, near, whose line to the cluster crosses no other. Where there is none, the name appears when one zooms in.

const LABEL_FONT = "system-ui, sans-serif";
const LABEL_SIZES = [11.5, 17]; // pixels, of the smallest and the largest cluster
const LABEL_LINE = 20; // columns from which on a name is broken into two lines
const LABEL_LENGTH = 44; // columns of a name
const LABEL_DIRECTIONS = 20;
const LABEL_DISTANCES = [0, 10, 26, 44, 66, 92, 124, 160, 200, 250];
const MAX_COVER = 0.24; // share of a name's area with points; names of clusters among the largest may have more
const ALWAYS_NAMED = 3;
const LABEL_AREA = 9000; // pixels of the canvas for each name
const OCCUPANCY_CELL = 5; // pixels
const LEADER_FROM = 15; // pixels from the name to its cluster's region from which on a line joins them
const REGION_STEP = 3; // every third corner of a region is enough to find the nearest
const FULL_CELL = 3; // points of a small size that cover a cell
const GAP = 3; // pixels between names

let labels = null; // [{ cluster, lines, size, dx, dy, w, h }], relative to the peak of the cluster; null until placed
function forgetLabels() { labels = null; }
subscribe(forgetLabels);

// A summed-area table of the cells of the canvas that points cover.
function measureOccupancy() {
  const { width, height } = canvasSize(), w = Math.ceil(width / OCCUPANCY_CELL), h = Math.ceil(height / OCCUPANCY_CELL);
  const sums = new Int32Array((w + 1) * (h + 1)), { scale, origin } = mapScale(), reach = pointWidth() / 2;
  const each = 2 * reach >= OCCUPANCY_CELL / 2 ? FULL_CELL : 1;
  const cellX = (px) => Math.floor(px / OCCUPANCY_CELL);
  for (let row = 0; row < N; row++) {
    if (pointStyles.marks[row] === 0 && state.passing) continue;
    const px = map.u[row] * scale[0] + origin[0], py = map.v[row] * scale[1] + origin[1];
    if (px < -9 || py < -9 || px > width + 9 || py > height + 9) continue;
    for (let y = Math.max(0, cellX(py - reach)); y <= Math.min(h - 1, cellX(py + reach)); y++) {
      for (let x = Math.max(0, cellX(px - reach)); x <= Math.min(w - 1, cellX(px + reach)); x++) {
        const at = (y + 1) * (w + 1) + x + 1;
        sums[at] = Math.min(FULL_CELL, sums[at] + each);
      }
    }
  }
  for (let y = 1; y <= h; y++) for (let x = 1; x <= w; x++) sums[y * (w + 1) + x] += sums[(y - 1) * (w + 1) + x] + sums[y * (w + 1) + x - 1] - sums[(y - 1) * (w + 1) + x - 1];
  return ([left, top, right, bottom]) => {
    const limit = (value, last) => Math.min(last, Math.max(0, value));
    const [x0, y0] = [limit(cellX(left), w), limit(cellX(top), h)], [x1, y1] = [limit(cellX(right) + 1, w), limit(cellX(bottom) + 1, h)];
    const n = sums[y1 * (w + 1) + x1] - sums[y0 * (w + 1) + x1] - sums[y1 * (w + 1) + x0] + sums[y0 * (w + 1) + x0];
    return n / Math.max(1, FULL_CELL * (x1 - x0) * (y1 - y0));
  };
}

// Break a name into at most two lines of similar length, after a comma if there is one near the middle.
function breakName(name) {
  const text = shorten(name, LABEL_LENGTH);
  if (columnsOf(text) <= LABEL_LINE) return [text];
  let best = -1, bestCost = Infinity;
  for (let i = 1; i < text.length - 1; i++) {
    if (text[i] !== " ") continue; // keywords are separated by them in every script
    const cost = Math.abs(i - text.length / 2) - (text[i - 1] === "," || text[i + 1] === "·" ? 4 : 0);
    if (cost < bestCost) [best, bestCost] = [i, cost];
  }
  return best < 0 ? [text] : [text.slice(0, best), text.slice(best + 1)];
}

const labelFont = (size) => `600 ${size.toFixed(1)}px ${LABEL_FONT}`;
const overlap = (a, b) => a[0] < b[2] + GAP && b[0] < a[2] + GAP && a[1] < b[3] + GAP && b[1] < a[3] + GAP;

// Whether two line segments cross.
function segmentsCross([a, b], [c, d]) {
  const side = ([x0, y0], [x1, y1], [x, y]) => (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0);
  return side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0;
}

function segmentHitsBox([a, b], [left, top, right, bottom]) {
  const inside = ([x, y]) => x > left && x < right && y > top && y < bottom;
  return inside(a) || inside(b) || [[[left, top], [right, bottom]], [[left, bottom], [right, top]]].some((diagonal) => segmentsCross([a, b], diagonal));
}

// The parts of the canvas below other elements, such as the legend.
function coveredBoxes() {
  const box = map.canvas.getBoundingClientRect();
  return [...document.querySelectorAll(".stage > .over:not([hidden])")].map((one) => one.getBoundingClientRect())
    .map((one) => [one.left - box.left, one.top - box.top, one.right - box.left, one.bottom - box.top]);
}

function placeLabels(context) {
  const { width, height } = canvasSize(), cover = measureOccupancy();
  const clusters = [...contoursNow()].map(([cluster, { peak, size }]) => ({ cluster, size, anchor: toCanvas(...peak) }))
    .filter(({ cluster, anchor: [px, py] }) => px > 0 && py > 0 && px < width && py < height && (state.selected === null || cluster === state.selected))
    .sort((a, b) => b.size - a.size);
  const largest = Math.max(1, ...clusters.map(({ size }) => size)), limit = Math.max(8, (width * height) / LABEL_AREA);
  const obstacles = coveredBoxes(), placed = [];
  const narrow = width < 480 ? 0.88 : 1;
  for (const { cluster, size, anchor } of clusters) {
    if (placed.length >= limit) break;
    const region = regionOf(cluster), fontSize = narrow * (LABEL_SIZES[0] + (LABEL_SIZES[1] - LABEL_SIZES[0]) * Math.sqrt(size / largest)), lines = breakName(clusterName(cluster));
    context.font = labelFont(fontSize);
    const w = Math.max(...lines.map((line) => context.measureText(line).width)) + 4, h = lines.length * fontSize * 1.15 + 2;
    let best = null, bestCost = Infinity;
    for (const distance of LABEL_DISTANCES) for (let i = 0; i < (distance ? LABEL_DIRECTIONS : 1); i++) {
      const angle = (2 * Math.PI * i) / LABEL_DIRECTIONS, [dx, dy] = [Math.cos(angle), Math.sin(angle)];
      const centre = distance ? [anchor[0] + dx * (distance + w / 2), anchor[1] + dy * (distance + h / 2)] : anchor;
      const box = [centre[0] - w / 2, centre[1] - h / 2, centre[0] + w / 2, centre[1] + h / 2];
      if (box[0] < 2 || box[1] < 2 || box[2] > width - 2 || box[3] > height - 2) continue;
      const covered = cover(box);
      const cost = 1.6 * covered + distance / 260 + (distance ? 0.02 : 0) + 0.03 * Math.abs(dx) * (distance ? 1 : 0);
      if (cost >= bestCost) continue;
      if (obstacles.some((other) => overlap(box, other)) || placed.some((other) => overlap(box, other.box))) continue;
      const leader = leaderOf(box, anchor, region);
      if (leader && placed.some((other) => segmentHitsBox(leader, other.box) || (other.leader && segmentsCross(leader, other.leader)))) continue;
      if (placed.some((other) => other.leader && segmentHitsBox(other.leader, box))) continue;
      [best, bestCost] = [{ cluster, lines, size: fontSize, w, h, covered, box, anchor, leader }, cost];
    }
    if (best && (best.covered <= MAX_COVER || placed.length < ALWAYS_NAMED || state.selected !== null)) placed.push(best);
  }
  return placed.map((label) => ({ ...label, dx: label.box[0] - label.anchor[0], dy: label.box[1] - label.anchor[1] }));
}

// The outline of the dense part of a cluster, in pixels.
function regionOf(cluster) {
  const { paths, peak } = contoursNow().get(cluster), lines = paths.at(-1) ?? [];
  return (lines.length ? lines.flat().filter((_, i) => i % REGION_STEP === 0) : [peak]).map(([u, v]) => toCanvas(u, v));
}

// The line from a name to the dense part of its cluster, null if they are close.
function leaderOf([left, top, right, bottom], [x, y], region) {
  const nearTo = ([px, py]) => [Math.min(right, Math.max(left, px)), Math.min(bottom, Math.max(top, py))];
  const distanceOf = (point) => Math.hypot(nearTo(point)[0] - point[0], nearTo(point)[1] - point[1]);
  let end = [x, y];
  for (const point of region) if (distanceOf(point) < distanceOf(end)) end = point;
  return distanceOf(end) < LEADER_FROM ? null : [nearTo(end), end];
}

// The labels at their present places on the canvas.
function labelsNow() {
  return (labels ?? []).map((label) => {
    const anchor = toCanvas(...contoursNow().get(label.cluster).peak), left = anchor[0] + label.dx, top = anchor[1] + label.dy;
    const box = [left, top, left + label.w, top + label.h];
    return { ...label, anchor, box, leader: leaderOf(box, anchor, regionOf(label.cluster)) };
  });
}

function labelAt(px, py) {
  return labelsNow().find(({ box: [left, top, right, bottom] }) => px >= left && px <= right && py >= top && py <= bottom);
}

function drawLabels(context) {
  if (!labels) labels = placeLabels(context);
  const back = themeColour("--back"), ink = themeColour("--ink"), shown = labelsNow();
  const colourFor = (cluster, contrast) => toCss(colouring.column ? ink : readableColour(colourOf(cluster), back, ink, contrast));
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineJoin = "round";
  for (const { cluster, leader } of shown) {
    if (!leader) continue;
    for (const [colour, width] of [[toCss(back, 0.85), 3.4], [colourFor(cluster, 3), 1.1]]) {
      context.beginPath();
      context.moveTo(...leader[0]);
      context.lineTo(...leader[1]);
      Object.assign(context, { strokeStyle: colour, lineWidth: width });
      context.stroke();
    }
  }
  for (const { cluster, lines, size, box } of shown) {
    context.font = labelFont(size);
    context.strokeStyle = toCss(back, 0.9);
    context.lineWidth = 4.5;
    context.fillStyle = colourFor(cluster, 6);
    lines.forEach((line, i) => {
      context.direction = RIGHT_TO_LEFT.test(line) ? "rtl" : "ltr";
      const [x, y] = [(box[0] + box[2]) / 2, box[1] + 1 + size * 1.15 * (i + 0.52)];
      context.strokeText(line, x, y);
      context.fillText(line, x, y);
    });
  }
}
