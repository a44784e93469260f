// The texts of what is selected: a cluster in words, or texts that were drawn around, searched for or clicked on.

const TEXTS_A_PAGE = 50;
const NEIGHBOURS = 9; // that are shown with a text that was clicked on
let page = 0, pageOf = null;

function marked(said) {
  if (!state.query) return [said];
  const parts = [], lower = said.toLowerCase(), query = state.query.toLowerCase();
  let from = 0;
  if (lower.length !== said.length) return [said]; // letters that change their length have no place to be marked at
  for (let at = lower.indexOf(query); at >= 0 && parts.length < 40; at = lower.indexOf(query, from)) {
    parts.push(said.slice(from, at), element("mark", {}, said.slice(at, at + query.length)));
    from = at + query.length;
  }
  return [...parts, said.slice(from)];
}

function textItem(row, withCluster) {
  const sure = sureness(row), meta = [sure === null ? "corrected" : `confidence ${sure} %`];
  if (withCluster) meta.unshift(nameOf(state.cluster[row]));
  const said = text(row), cut = said.length > 2000 ? said.slice(0, 1999) + "…" : said;
  return element("li", { "data-row": row }, element("div", {}, ...marked(cut)), element("div", { class: "meta" }, meta.join(" · ")), editing ? textActions(row) : null);
}

function paged(rows, withCluster) {
  const last = Math.max(0, Math.ceil(rows.length / TEXTS_A_PAGE) - 1);
  page = Math.min(page, last);
  const some = rows.slice(page * TEXTS_A_PAGE, (page + 1) * TEXTS_A_PAGE);
  const turn = (by) => { page = Math.min(last, Math.max(0, page + by)); drawDetail(); };
  const pages = last === 0 ? null : element("div", { class: "pages" },
    element("button", { type: "button", "data-action": "previous", onclick: () => turn(-1), disabled: page === 0 }, "Previous"),
    `page ${page + 1} of ${last + 1}`,
    element("button", { type: "button", "data-action": "next", onclick: () => turn(1), disabled: page === last }, "Next"));
  return [element("ul", { class: "all" }, ...some.map((row) => textItem(row, withCluster))), pages].filter(Boolean);
}

function quotes(title, rows) {
  return [element("h3", {}, title), element("ul", {}, ...rows.map((row) => textItem(row, false)))];
}

function describeCluster(id) {
  const one = state.clusters.get(id), rows = rowsOf(id);
  const here = (list) => list.filter((row) => state.cluster[row] === id);
  const near = (one?.near ?? []).filter((other) => state.clusters.has(other));
  return [
    element("h2", {}, dot(id), " ", nameOf(id)),
    element("p", { class: "meta" }, `cluster ${id === NONE ? "none" : id} · ${texts(rows.length)} (${percent(rows.length / N)}) · mean confidence ${percent(confidences().get(id))}`),
    one ? element("div", { class: "words" }, ...one.keywords.map((word) => element("span", {}, word))) : null,
    near.length ? element("p", {}, "Near: ", ...near.flatMap((other) => [element("button", { type: "button", onclick: () => select(other) }, nameOf(other)), " "])) : null,
    editing ? clusterActions(id) : null,
    ...(one && here(one.typical).length ? quotes("Typical", here(one.typical)) : []),
    ...(one && here(one.doubtful).length ? quotes("Doubtful", here(one.doubtful)) : []),
    element("h3", {}, "All texts"),
    ...paged(rows, false),
  ].filter((part) => part !== null);
}

function drawDetail() {
  const now = state.rows ?? state.selected;
  if (now !== pageOf) [page, pageOf] = [0, now];
  const place = byId("detail"), focus = focusIn(place);
  if (state.rows) {
    place.replaceChildren(element("h2", {}, state.about), editing && state.rows.length ? rowsActions(state.rows) : "", ...paged(state.rows, true));
  } else if (state.selected !== null) {
    place.replaceChildren(...describeCluster(state.selected));
  } else {
    place.replaceChildren(element("p", { class: "meta" }, "Choose a cluster, click on a point, draw around some points with the lasso, or search."));
  }
  byId("told").textContent = place.querySelector("h2")?.textContent ?? "";
  giveFocusBack(place, focus);
}

// Whoever works through a list by keyboard stays at the same action of the same place in it when the list is drawn anew.
function focusIn(place) {
  const action = place.contains(document.activeElement) ? document.activeElement.dataset.action : undefined;
  return action && { action, at: [...place.querySelectorAll(`[data-action="${action}"]`)].indexOf(document.activeElement) };
}

function giveFocusBack(place, focus) {
  if (!focus) return;
  const same = place.querySelectorAll(`[data-action="${focus.action}"]`);
  same[Math.min(focus.at, same.length - 1)]?.focus();
}

// A text that was clicked on, and then its neighbours on the map.
function readText(row) {
  const nearest = []; // [distance, row], the furthest last
  for (let other = 0; other < N; other++) {
    const distance = (points.x[other] - points.x[row]) ** 2 + (points.y[other] - points.y[row]) ** 2;
    if (other === row || (nearest.length === NEIGHBOURS && distance >= nearest[NEIGHBOURS - 1][0])) continue;
    nearest.push([distance, other]);
    nearest.sort((a, b) => a[0] - b[0]);
    nearest.length = Math.min(nearest.length, NEIGHBOURS);
  }
  showRows([row, ...nearest.map(([, other]) => other)], `A text and the ${nearest.length} nearest to it`);
  goToTexts();
}

function startDetail() {
  listen(drawDetail);
  drawDetail();
}
