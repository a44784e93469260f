// The detail view: a cluster with its keywords and texts, or texts from the lasso, the search or a click.

const PAGE_TEXTS = 50;
const N_NEIGHBOURS = 9; // shown with a text that was clicked
let page = 0, pagedSelection = null;

function highlightQuery(text) {
  if (!state.query) return [text];
  const parts = [], lower = text.toLowerCase(), query = state.query.toLowerCase();
  let start = 0;
  if (lower.length !== text.length) return [text]; // lower case changed the length: positions do not match
  for (let hit = lower.indexOf(query); hit >= 0 && parts.length < 40; hit = lower.indexOf(query, start)) {
    parts.push(text.slice(start, hit), element("mark", {}, text.slice(hit, hit + query.length)));
    start = hit + query.length;
  }
  return [...parts, text.slice(start)];
}

function textItem(row, withCluster) {
  const confidence = confidenceOf(row), meta = [confidence === null ? "corrected" : `confidence ${confidence} % (${confidenceLevel(confidence)})`];
  if (withCluster) meta.unshift(clusterName(state.cluster[row]));
  const text = textOf(row), shortened = text.length > 2000 ? text.slice(0, 1999) + "…" : text;
  return element("li", { "data-row": row }, element("div", {}, ...highlightQuery(shortened)), element("div", { class: "meta" }, meta.join(" · ")), editing ? textActions(row) : null);
}

function pagedList(rows, withCluster) {
  const last = Math.max(0, Math.ceil(rows.length / PAGE_TEXTS) - 1);
  page = Math.min(page, last);
  const shown = rows.slice(page * PAGE_TEXTS, (page + 1) * PAGE_TEXTS);
  const turnPage = (step) => { page = Math.min(last, Math.max(0, page + step)); drawDetail(); };
  const pages = last === 0 ? null : element("div", { class: "pages" },
    element("button", { type: "button", "data-action": "previous", onclick: () => turnPage(-1), disabled: page === 0 }, "Previous"),
    `page ${page + 1} of ${last + 1}`,
    element("button", { type: "button", "data-action": "next", onclick: () => turnPage(1), disabled: page === last }, "Next"));
  return [element("ul", { class: "all" }, ...shown.map((row) => textItem(row, withCluster))), pages].filter(Boolean);
}

function quoteSection(title, rows) {
  return [element("h3", {}, title), element("ul", {}, ...rows.map((row) => textItem(row, false)))];
}

function clusterDetail(id) {
  const cluster = state.clusters.get(id), rows = rowsOf(id);
  const inCluster = (list) => list.filter((row) => state.cluster[row] === id);
  const near = (cluster?.near ?? []).filter((other) => state.clusters.has(other));
  return [
    element("h2", {}, colourDot(id), " ", clusterName(id)),
    element("p", { class: "meta" }, `${groupOf(id) ? (groupOf(id).rows ? "part of a cluster" : `${groupOf(id).clusters.length} clusters`) : `cluster ${id === NO_CLUSTER ? "none" : id}`} · ${formatTexts(rows.length)} (${formatPercent(rows.length / N)}) · mean confidence ${formatPercent(meanConfidences().get(id))}`),
    groupMembers(id),
    cluster?.reliability ? element("p", { class: "note" }, `${cluster.reliability.sentence[0].toUpperCase()}${cluster.reliability.sentence.slice(1)}.`) : null,
    cluster ? element("div", { class: "words" }, ...cluster.keywords.map((word) => element("span", {}, word))) : null,
    near.length ? element("p", {}, "Near: ", ...near.flatMap((other) => [element("button", { type: "button", onclick: () => select(other) }, clusterName(other)), " "])) : null,
    editing ? clusterActions(id) : null,
    ...(cluster && inCluster(cluster.typical).length ? quoteSection("Typical", inCluster(cluster.typical)) : []),
    ...(cluster && inCluster(cluster.doubtful).length ? quoteSection("Doubtful", inCluster(cluster.doubtful)) : []),
    element("h3", {}, "All texts"),
    ...pagedList(rows, false),
  ].filter((part) => part !== null);
}

function drawDetail() {
  const selection = state.rows ?? state.selected;
  if (selection !== pagedSelection) [page, pagedSelection] = [0, selection];
  const detail = byId("detail"), focus = findFocus(detail);
  if (state.rows) {
    detail.replaceChildren(element("h2", {}, state.about), editing && state.rows.length ? rowsActions(state.rows) : "", ...pagedList(state.rows, true));
  } else if (state.selected !== null) {
    detail.replaceChildren(...clusterDetail(state.selected));
  } else {
    detail.replaceChildren(element("p", { class: "meta" }, "Choose a cluster, click on a point, draw around some points with the lasso, or search."));
  }
  byId("announcement").textContent = detail.querySelector("h2")?.textContent ?? "";
  restoreFocus(detail, focus);
}

// Keep the keyboard focus at the same action and the same position when the list is drawn again.
function findFocus(container) {
  const action = container.contains(document.activeElement) ? document.activeElement.dataset.action : undefined;
  return action && { action, index: [...container.querySelectorAll(`[data-action="${action}"]`)].indexOf(document.activeElement) };
}

function restoreFocus(container, focus) {
  if (!focus) return;
  const candidates = container.querySelectorAll(`[data-action="${focus.action}"]`);
  candidates[Math.min(focus.index, candidates.length - 1)]?.focus();
}

// Show a text that was clicked, followed by its nearest neighbours on the map.
function showNeighbours(row) {
  const nearest = []; // [distance, row], nearest first
  for (let other = 0; other < N; other++) {
    const distance = (points.x[other] - points.x[row]) ** 2 + (points.y[other] - points.y[row]) ** 2;
    if (other === row || (nearest.length === N_NEIGHBOURS && distance >= nearest[N_NEIGHBOURS - 1][0])) continue;
    nearest.push([distance, other]);
    nearest.sort((a, b) => a[0] - b[0]);
    nearest.length = Math.min(nearest.length, N_NEIGHBOURS);
  }
  showRows([row, ...nearest.map(([, other]) => other)], `A text and its ${nearest.length} nearest neighbours on the map`);
  scrollToTexts();
}

function startDetail() {
  subscribe(drawDetail);
  drawDetail();
}
