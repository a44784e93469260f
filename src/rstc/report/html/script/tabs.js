// The tabs, and what they share: panels that are drawn when they are opened, foldable sections, a tooltip, tables that the
// arrow keys move in, and a dialog that lists texts.

// A panel's function gets its element and fills it; it is called again when the state has changed.
const PANELS = { map: null, time: drawTime, groups: drawGroups, tree: drawTree, truth: drawTruth, proposals: drawProposals, made: drawMade };
const HAS_PANEL = {
  time: () => Boolean(content.over_time?.clusters.length),
  groups: () => Boolean(content.groups?.length),
  tree: () => content.tree.length > 0,
  truth: () => Boolean(content.truth),
  proposals: () => state.proposals.length > 0,
};

let openPanel = "map", stateVersion = 0;
const drawnVersions = new Map(); // of each panel, so that a panel that is opened again keeps its place

function openTab(name) {
  for (const panel of Object.keys(PANELS)) {
    const tab = byId("tab-" + panel);
    tab.setAttribute("aria-selected", String(panel === name));
    tab.tabIndex = panel === name ? 0 : -1;
    byId("panel-" + panel).hidden = panel !== name;
  }
  openPanel = name;
  byId("tab-" + name).scrollIntoView({ block: "nearest", inline: "nearest" });
  hideTip();
  drawPanel();
}

function drawPanel() {
  if (!PANELS[openPanel]) return redraw();
  if (drawnVersions.get(openPanel) === stateVersion) return;
  drawnVersions.set(openPanel, stateVersion);
  const panel = byId("panel-" + openPanel);
  keepFocus(panel, () => PANELS[openPanel](panel));
}

// Draw again although the state is the same, for example because an option of the panel changed.
function redrawPanel() {
  drawnVersions.delete(openPanel);
  drawPanel();
}

// Keep the keyboard focus at the element with the same data-key while a part of the page is drawn again.
function keepFocus(container, draw) {
  const key = container.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  draw();
  if (key !== undefined) container.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

const openSections = new Map(); // from the key of a section to whether the reader opened it

// A section with a summary that can be folded; its content is made when it is first opened.
function foldable(key, summary, makeContent, isOpen = false) {
  const section = element("details", { class: "fold" }, element("summary", { "data-key": "fold-" + key }, summary));
  const fill = () => { if (section.open && section.children.length === 1) section.append(...[makeContent()].flat().filter(Boolean)); };
  section.open = openSections.get(key) ?? isOpen;
  section.addEventListener("toggle", () => {
    openSections.set(key, section.open);
    fill();
  });
  fill();
  return section;
}

function hideTip() {
  byId("panel-tip").hidden = true;
}

// Show lines of text beside a position of the window; the first is bold.
function showPanelTip(x, y, lines) {
  const tip = byId("panel-tip");
  tip.replaceChildren(...lines.map((line, i) => element(i ? "div" : "strong", {}, line)));
  tip.hidden = false;
  const right = document.documentElement.clientWidth, bottom = window.innerHeight;
  tip.style.left = Math.max(4, Math.min(x + 14, right - tip.offsetWidth - 6)) + "px";
  tip.style.top = (y + 18 + tip.offsetHeight > bottom ? Math.max(4, y - tip.offsetHeight - 10) : y + 18) + "px";
}

// Let a table's cells be reached by one tab stop and the arrow keys. `describe` returns the lines of a cell's tooltip,
// `activate` is called with a cell that is clicked or entered.
function makeGrid(table, describe, activate) {
  const rows = [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll("td")]);
  table.setAttribute("role", "grid");
  if (!rows.length) return;
  let current = rows[0][0];
  current.tabIndex = 0;
  const move = (cell) => {
    current.tabIndex = -1;
    current = cell;
    cell.tabIndex = 0;
    cell.focus();
  };
  const tip = (cell) => {
    const box = cell.getBoundingClientRect();
    showPanelTip(box.left, box.bottom - 12, describe(cell));
  };
  const cellOf = (event) => event.target.closest("tbody td");
  table.addEventListener("click", (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    move(cell);
    activate(cell);
  });
  table.addEventListener("pointerover", (event) => { if (cellOf(event)) tip(cellOf(event)); else hideTip(); });
  table.addEventListener("pointerleave", hideTip);
  table.addEventListener("focusin", (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    cell.setAttribute("aria-label", describe(cell).join(", ")); // when it is needed: there may be thousands of cells
    tip(cell);
  });
  table.addEventListener("focusout", hideTip);
  table.addEventListener("keydown", (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      return activate(cell);
    }
    if (event.key === "Escape") return hideTip();
    const y = rows.findIndex((row) => row.includes(cell)), x = rows[y].indexOf(cell);
    const target = { ArrowDown: [y + 1, x], ArrowUp: [y - 1, x], ArrowRight: [y, x + 1], ArrowLeft: [y, x - 1], Home: [y, 0], End: [y, rows[y].length - 1] }[event.key];
    if (!target) return;
    event.preventDefault();
    const next = rows[target[0]]?.[target[1]];
    if (next) move(next);
  });
}

// A heading of a table that sorts by its column. `sorting` is { by, descending }.
function sortHeading(label, by, sorting, attributes = {}) {
  const isCurrent = sorting.by === by;
  const sort = () => {
    Object.assign(sorting, { by, descending: isCurrent ? !sorting.descending : true });
    redrawPanel();
  };
  const arrow = element("span", { class: "arrow", "aria-hidden": "true" }, isCurrent ? (sorting.descending ? "▾" : "▴") : "");
  return element("th", { scope: "col", "aria-sort": isCurrent ? (sorting.descending ? "descending" : "ascending") : null, ...attributes },
    element("button", { type: "button", class: "sort", "data-key": "sort-" + by, onclick: sort, title: `${label}: sort by this column` }, element("span", { class: "label" }, label), arrow));
}

// The name of a cluster as it is now, or as the run found it if corrections removed it.
function nameOf(id) {
  return state.clusters.has(id) ? clusterName(id) : content.clusters.find((cluster) => cluster.id === id)?.name ?? clusterName(id);
}

// A note for what was computed before the corrections of an editing session.
function correctionsNote() {
  return state.edits ? element("p", { class: "meta" }, "Computed before your corrections.") : null;
}

const DIALOG_TEXTS = 50; // per page

// List texts in a dialog above the panel, which stays as it is. `rows` are shown in their order.
function openTexts(rows, about) {
  let start = 0;
  const dialog = byId("texts-dialog"), list = element("ul", {}), pages = element("div", { class: "pages" });
  const draw = () => {
    list.replaceChildren(...rows.slice(start, start + DIALOG_TEXTS).map((row) => {
      const confidence = confidenceOf(row);
      return element("li", { "data-row": row }, element("div", { dir: "auto" }, shorten(textOf(row), 2000)), element("div", { class: "meta" }, colourDot(state.cluster[row]), " ", element("bdi", {}, clusterName(state.cluster[row])), confidence === null ? " · corrected" : ` · confidence ${confidence} %`));
    }));
    const turn = (step) => { start += step; draw(); list.scrollIntoView({ block: "start" }); };
    pages.replaceChildren(...(rows.length <= DIALOG_TEXTS ? [] : [
      element("button", { type: "button", disabled: start === 0, onclick: () => turn(-DIALOG_TEXTS) }, "Previous"),
      `${formatCount(start + 1)} to ${formatCount(Math.min(rows.length, start + DIALOG_TEXTS))} of ${formatCount(rows.length)}`,
      element("button", { type: "button", disabled: start + DIALOG_TEXTS >= rows.length, onclick: () => turn(DIALOG_TEXTS) }, "Next")]));
  };
  const showOnMap = () => {
    dialog.close();
    showRows(rows, about);
    openTab("map");
    byId("tab-map").focus();
    scrollToTexts();
  };
  draw();
  hideTip();
  dialog.replaceChildren(
    element("header", {}, element("h2", { id: "texts-title" }, about), element("p", { class: "meta" }, formatTexts(rows.length)),
      element("div", { class: "actions" }, element("button", { type: "button", "data-action": "on-map", onclick: showOnMap }, "Show on the map"), element("button", { type: "button", "data-action": "close", onclick: () => dialog.close() }, "Close"))),
    list, pages);
  dialog.showModal();
}

function openClusterTexts(id) {
  openTexts(rowsOf(id), clusterName(id));
}

function startTabs() {
  subscribe(() => {
    stateVersion++;
    drawPanel();
  });
  const tabs = Object.keys(PANELS).filter((name) => HAS_PANEL[name]?.() ?? true);
  for (const name of Object.keys(PANELS)) byId("tab-" + name).hidden = !tabs.includes(name);
  for (const [i, name] of tabs.entries()) {
    byId("tab-" + name).addEventListener("click", () => openTab(name));
    byId("tab-" + name).addEventListener("keydown", (event) => {
      const next = { ArrowRight: tabs[(i + 1) % tabs.length], ArrowLeft: tabs[(i + tabs.length - 1) % tabs.length], Home: tabs[0], End: tabs[tabs.length - 1] }[event.key];
      if (!next) return;
      event.preventDefault();
      openTab(next);
      byId("tab-" + next).focus();
    });
  }
  byId("texts-dialog").addEventListener("click", (event) => { if (event.target === byId("texts-dialog")) byId("texts-dialog").close(); });
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return; // the height changes when a phone hides its bars
    width = window.innerWidth;
    if (PANELS[openPanel]) redrawPanel();
  });
  window.addEventListener("scroll", hideTip, { capture: true, passive: true });
}
