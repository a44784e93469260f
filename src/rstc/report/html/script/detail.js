// The detail view: the overview, a cluster with its keywords and texts, or texts from the lasso, the search or a click.

const PAGE_TEXTS = 50;
const N_SIMILAR = 12; // shown with a text that was clicked
let page = 0, pagedSelection = null;

// A text as nodes, in which the words that were searched are marked.
function markTerms(text) {
  const spans = findTerms(text, state.terms), parts = [];
  let end = 0;
  for (const [from, to] of spans) {
    parts.push(text.slice(end, from), element("mark", {}, text.slice(from, to)));
    end = to;
  }
  return [...parts, text.slice(end)];
}

function textItem(row, withCluster) {
  const confidence = confidenceOf(row), meta = [confidence === null ? "corrected" : `confidence\u00a0${confidence}\u00a0%\u00a0(${confidenceLevel(confidence)})`];
  if (withCluster) meta.unshift(isolate(clusterName(state.cluster[row])));
  const similar = neighbours ? actionButton("Similar", () => showSimilar(row), { class: "quiet", "data-action": "similar", "aria-label": "List similar texts" }) : null;
  return element("li", { "data-row": row }, 
    element("div", { class: "text", dir: "auto" }, ...markTerms(shorten(textOf(row), 2000))),
    element("div", { class: "about" }, element("span", { class: "meta" }, withCluster ? colourDot(state.cluster[row]) : "", " ", meta.join(" · ")), similar), editing ? textActions(row) : null);
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
  const cluster = state.clusters.get(id), rows = passingRowsOf(id);
  const inCluster = (list) => list.filter((row) => state.cluster[row] === id && passes(row));
  const confidence = meanConfidences(Boolean(groupOf(id))).get(id), filtered = state.passing ? `, of those that pass the filters` : "";
  const group = groupOf(id), what = group?.rows ? `part of ${isolate(clusterName(group.largest))}` : group ? `${group.clusters.length} clusters` : `cluster ${id === NO_CLUSTER ? "none" : id}`;
  const near = (cluster?.near ?? []).filter((other) => state.clusters.has(other));
  return [
    backButton(),
    element("h2", {}, colourDot(id), " ", element("bdi", {}, clusterName(id))),
    cluster?.description ? element("p", { class: "description" }, cluster.description) : null,
    element("p", { class: "meta" }, `${what} · ${formatTexts(rows.length)} (${formatPercent(rows.length / N)})${filtered} · mean confidence ${formatPercent(confidence)}`),
    groupMembers(id),
    cluster?.reliability ? element("p", { class: "note" }, `${capitalise(isolateQuotes(cluster.reliability.sentence))}.`) : null,
    cluster ? element("div", { class: "words" }, ...cluster.keywords.map((word) => element("span", {}, word))) : null,
    near.length ? element("p", { class: "near" }, "Near: ", ...near.flatMap((other) => [clusterLink(other), " "])) : null,
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
    const rows = state.rows.filter(passes), sections = (state.sections ?? []).filter((section) => section.rows.length);
    detail.replaceChildren(backButton(), element("h2", {}, state.about), editing && rows.length ? rowsActions(rows) : "", ...pagedList(rows, true),
      ...sections.flatMap(({ title, note, rows: others }) => [element("h3", { class: "section" }, title), note ? element("p", { class: "meta" }, note) : "", element("ul", { class: "near-texts" }, ...others.map((row) => textItem(row, true)))]));
  } else if (state.selected !== null) {
    detail.replaceChildren(...clusterDetail(state.selected));
  } else {
    detail.replaceChildren(...overview());
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

// The texts that are most similar to a text: its neighbours by meaning and theirs, or those that are near on the map.
function similarTo(row) {
  if (!neighbours) {
    const distance = (other) => (points.x[other] - points.x[row]) ** 2 + (points.y[other] - points.y[row]) ** 2;
    const nearest = []; // [distance, row], nearest first
    for (let other = 0; other < N; other++) {
      if (other === row || (nearest.length === N_SIMILAR && distance(other) >= nearest[N_SIMILAR - 1][0])) continue;
      nearest.push([distance(other), other]);
      nearest.sort((a, b) => a[0] - b[0]);
      nearest.length = Math.min(nearest.length, N_SIMILAR);
    }
    return nearest.map(([, other]) => other);
  }
  const scores = new Map(), direct = neighboursOf(row);
  direct.forEach((near, rank) => scores.set(near, 10 - rank));
  direct.forEach((near, rank) => neighboursOf(near).forEach((far, second) => {
    if (far !== row && !direct.includes(far)) scores.set(far, (scores.get(far) ?? 0) + 1 / ((rank + 1) * (second + 1)));
  }));
  return [...scores].sort((a, b) => b[1] - a[1]).slice(0, N_SIMILAR).map(([other]) => other);
}

function showSimilar(row) {
  const similar = similarTo(row);
  const title = neighbours ? "Nearest in meaning" : "Nearest on the map";
  showRows([row], "A text and those like it", { sections: [{ title, rows: similar }] });
  map.focus = row;
  redraw();
  scrollToTexts();
}

function backButton() {
  return actionButton("← Overview", showOverview, { class: "back", "data-action": "overview" });
}

function showOverview() {
  map.focus = -1;
  select(null);
}

function clusterLink(id) {
  return element("button", { type: "button", class: "link", "data-cluster": id, onclick: () => { select(id); scrollToTexts(); } }, colourDot(id), element("bdi", {}, clusterName(id)));
}

function startDetail() {
  subscribe(drawDetail);
  drawDetail();
}
