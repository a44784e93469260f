// Drawing of the map: contours below, then every text as a point that is blended into the pixels of the canvas, which is
// fast for hundreds of thousands, then names.

const POINT_WIDTHS = [2.1, 8.5]; // pixels, at least and at most, before zooming
const MAX_POINT_WIDTH = 13;
const COVERED_SHARE = 0.11; // of the canvas, by points that do not overlap
const RING_WIDTH = 6; // pixels from which on a point has an edge in the colour of the background
const OPACITY = { faint: 40, plain: 215, marked: 250 }; // of 255

// An order in which no cluster is drawn above another because of its place in the file.
const drawOrder = (() => {
  const order = Uint32Array.from({ length: N }, (_, row) => row);
  let seed = 1;
  for (let i = N - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = seed % (i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
})();

// The colour of each point as a pixel, and whether it is marked: 0 is faint, 1 plain, 2 marked. Null until computed.
let pointStyles = null;
subscribe(() => { pointStyles = null; });

const toPixel = ([r, g, b]) => (b << 16) | (g << 8) | r;

function stylePoints() {
  const colours = new Uint32Array(N), marks = new Uint8Array(N), colour = colourFunction();
  const isMarked = state.rows ? new Set([...state.rows, ...(state.sections ?? []).flatMap((section) => section.rows)]) : null;
  const selects = isMarked !== null || state.selected !== null;
  const shown = groupOf(state.selected) ? shownClusters() : state.cluster;
  for (let row = 0; row < N; row++) {
    colours[row] = colour(row);
    const hit = isMarked ? isMarked.has(row) : state.selected !== null && shown[row] === state.selected;
    marks[row] = !passes(row) ? 0 : selects ? (hit ? 2 : 0) : 1;
  }
  return { colours, marks, counts: [0, 1, 2].map((mark) => marks.reduce((n, other) => n + (other === mark), 0)) };
}

function pointWidth() {
  const { width, height } = canvasSize();
  const plain = Math.min(POINT_WIDTHS[1], Math.max(POINT_WIDTHS[0], Math.sqrt((width * height * COVERED_SHARE) / Math.max(N, 1))));
  return Math.min(Math.max(plain, MAX_POINT_WIDTH), plain * map.zoom ** 0.45);
}

// The coverage of each pixel by a disc, from 0 to 255, with the pixels that are covered only.
function makeDisc(diameter, opacity) {
  const side = Math.ceil(diameter) + 1, middle = (side - 1) / 2, dx = [], dy = [], alpha = [];
  for (let y = 0; y < side; y++) for (let x = 0; x < side; x++) {
    const coverage = Math.min(1, Math.max(0, diameter / 2 + 0.5 - Math.hypot(x - middle, y - middle)));
    if (coverage > 0.03) dx.push(x), dy.push(y), alpha.push(Math.round(coverage * opacity));
  }
  return { side, dx: Int32Array.from(dx), dy: Int32Array.from(dy), alpha: Int32Array.from(alpha) };
}

function blendPoints(pixels, W, H, ratio) {
  pointStyles ??= stylePoints();
  const { colours, marks, counts } = pointStyles, { u, v } = map, { scale, origin } = mapScale();
  const diameter = Math.max(1.2, pointWidth() * ratio), back = toPixel(themeColour("--back"));
  const crowd = Math.min(1, Math.max(0.62, 1.2 - Math.log10(Math.max(N, 10)) * 0.13)); // less opaque where many overlap
  for (const mark of [0, 1, 2]) {
    if (!counts[mark]) continue;
    const width = mark === 2 ? diameter * 1.12 : diameter;
    const layers = [{ disc: makeDisc(width, [OPACITY.faint, OPACITY.plain * crowd, OPACITY.marked][mark]) }];
    if (mark && width >= RING_WIDTH * ratio) layers.unshift({ disc: makeDisc(width + 1.6 * ratio, 150), colour: back });
    for (let i = 0; i < N; i++) {
      const row = drawOrder[i];
      if (marks[row] !== mark) continue;
      const px = (u[row] * scale[0] + origin[0]) * ratio, py = (v[row] * scale[1] + origin[1]) * ratio;
      for (const { disc, colour } of layers) {
        const left = Math.round(px - disc.side / 2), top = Math.round(py - disc.side / 2);
        if (left < 0 || top < 0 || left + disc.side >= W || top + disc.side >= H) continue;
        const source = colour ?? colours[row], redBlue = source & 0xff00ff, green = source & 0x00ff00, first = top * W + left;
        for (let k = 0; k < disc.alpha.length; k++) {
          const pixel = first + disc.dy[k] * W + disc.dx[k], before = pixels[pixel], a = disc.alpha[k];
          const rb = before & 0xff00ff, g = before & 0x00ff00;
          pixels[pixel] = 0xff000000 | ((rb + (Math.imul(redBlue - rb, a) >> 8)) & 0xff00ff) | ((g + (Math.imul(green - g, a) >> 8)) & 0x00ff00);
        }
      }
    }
  }
}

function drawMap() {
  map.drawing = false;
  const { width, height } = canvasSize();
  if (!width || !height) return;
  fitMap();
  const ratio = window.devicePixelRatio || 1, W = Math.round(width * ratio), H = Math.round(height * ratio);
  if (map.canvas.width !== W || map.canvas.height !== H) Object.assign(map.canvas, { width: W, height: H });
  const context = map.canvas.getContext("2d", { willReadFrequently: true });
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = toCss(themeColour("--back"));
  context.fillRect(0, 0, width, height);
  drawContours(context);
  const image = context.getImageData(0, 0, W, H);
  blendPoints(new Uint32Array(image.data.buffer), W, H, ratio);
  context.putImageData(image, 0, 0);
  drawLabels(context);
  if (map.focus >= 0) drawRing(context, map.focus);
  if (map.lasso) drawLasso(context);
}

// A ring around the point that has the keyboard's focus or whose text is shown.
function drawRing(context, row) {
  const [px, py] = placeOfRow(row);
  for (const [radius, width, name] of [[0, 4, "--back"], [0, 2, "--ink"]]) {
    context.beginPath();
    context.arc(px, py, pointWidth() / 2 + 4 + radius, 0, 2 * Math.PI);
    context.lineWidth = width;
    context.strokeStyle = toCss(themeColour(name));
    context.stroke();
  }
}

function drawLasso(context) {
  context.beginPath();
  for (const [px, py] of map.lasso) context.lineTo(px, py);
  context.closePath();
  context.strokeStyle = toCss(themeColour("--mark"));
  context.fillStyle = toCss(themeColour("--mark"), 0.08);
  context.lineWidth = 1.5;
  context.fill();
  context.stroke();
}
