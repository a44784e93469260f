// The map with mouse, touch and keyboard: moving, zooming, the lasso, the text under the pointer.

const MAX_CLICK_MOVE = 4; // pixels that the pointer may move during a click
Object.assign(map, { lasso: null, focus: -1 });

function isInside(polygon, px, py) {
  let odd = false;
  for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
    const [xi, yi] = polygon[i], [xj, yj] = polygon[j];
    if (yi > py !== yj > py && px < ((xj - xi) * (py - yi)) / (yj - yi) + xi) odd = !odd;
  }
  return odd;
}

function rowsInLasso() {
  const polygon = map.lasso.map(([px, py]) => toMap(px, py));
  return findRows((row) => isInside(polygon, map.u[row], map.v[row]));
}

function showTip(row, px, py) {
  const tip = byId("tip");
  tip.hidden = row < 0;
  if (row < 0) return;
  const column = colouring.column, value = column && cellText(column, row);
  tip.replaceChildren(
    element("strong", {}, colourDot(shownClusters()[row]), " ", element("bdi", {}, clusterName(shownClusters()[row]))),
    element("div", {}, shorten(textOf(row), 240)),
    value ? element("div", { class: "meta" }, `${column.name}: ${value}`) : "");
  const { width, height } = canvasSize();
  tip.style.left = Math.max(4, Math.min(px + 12, width - tip.offsetWidth - 4)) + "px";
  tip.style.top = Math.max(4, py + 12 + tip.offsetHeight > height ? py - tip.offsetHeight - 12 : py + 12) + "px";
}

function toggle(id) {
  const pressed = byId(id).getAttribute("aria-pressed") !== "true";
  byId(id).setAttribute("aria-pressed", pressed);
  return pressed;
}

// Move the focus to another point, and say what its text is.
function focusRow(row) {
  if (row < 0) return;
  map.focus = row;
  const [px, py] = placeOfRow(row), { width, height } = canvasSize();
  if (px < 0 || py < 0 || px > width || py > height) {
    map.centre = [map.u[row], map.v[row]];
    moveView();
  }
  showTip(row, ...placeOfRow(row));
  byId("announcement").textContent = `${isolate(clusterName(shownClusters()[row]))}: ${shorten(textOf(row), 240)}`;
  redraw();
}

function mapKey(event) {
  const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  const action = direction
    ? () => (event.shiftKey ? moveBy(-60 * direction[0], -60 * direction[1]) : focusRow(nextRow(map.focus, ...direction)))
    : {
        "+": () => zoomBy(1.4), "=": () => zoomBy(1.4), "-": () => zoomBy(1 / 1.4), 0: showWholeMap,
        Enter: () => map.focus >= 0 && showSimilar(map.focus), " ": () => map.focus >= 0 && select(shownClusters()[map.focus]),
      }[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function pointersOnMap() {
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
    map.focus = -1;
    if (byId("lasso").getAttribute("aria-pressed") === "true") map.lasso = [position(event)];
  });
  canvas.addEventListener("pointermove", (event) => {
    const [px, py] = position(event), before = pointers.get(event.pointerId);
    if (!before) {
      const row = nearestRow(px, py);
      canvas.classList.toggle("pointing", row >= 0 || labelAt(px, py) !== undefined);
      return showTip(row, px, py);
    }
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
      return showRows(rows, formatTexts(rows.length));
    }
    if (!clickStart) return;
    const at = position(event), row = nearestRow(...at), label = labelAt(...at);
    if (row >= 0) showSimilar(row);
    else if (label) select(label.cluster);
    else showOverview();
  });
  canvas.addEventListener("pointercancel", () => {
    pointers.clear();
    Object.assign(map, { lasso: null });
    [clickStart, pinchDistance] = [null, 0];
    redraw();
  });
  canvas.addEventListener("pointerleave", () => showTip(-1));
}

function startMap() {
  const { canvas } = map;
  pointersOnMap();
  canvas.addEventListener("keydown", mapKey);
  canvas.addEventListener("blur", () => {
    map.focus = -1;
    showTip(-1);
    redraw();
  });
  byId("zoom-in").addEventListener("click", () => zoomBy(1.5));
  byId("zoom-out").addEventListener("click", () => zoomBy(1 / 1.5));
  byId("zoom-all").addEventListener("click", showWholeMap);
  byId("lasso").addEventListener("click", () => canvas.classList.toggle("lasso", toggle("lasso")));
  byId("contours").addEventListener("click", () => { toggle("contours"); redraw(); });
  new ResizeObserver(() => { measureCanvas(); moveView(); }).observe(canvas);
  subscribe(redraw);
  measureCanvas();
  // What the canvas shows, for programs that test or read the page.
  canvas.inspect = { placeOf: placeOfRow, labels: () => labelsNow().map(({ cluster, box, lines, covered }) => ({ cluster, box, lines, covered })) };
  redraw();
}
