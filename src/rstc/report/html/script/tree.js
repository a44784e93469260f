// The tab Tree: which clusters are similar, as a tree whose subtrees can be selected and folded, with the slider of
// grouping.js. Leaves are rows from top to bottom; the further left two branches meet, the more similar they are.

const MAX_TREE_ROWS = 60; // of a tree that is opened; small subtrees of larger trees are folded
const treeState = { folded: null, unfolded: new Set(), current: null }; // nodes by their keys; folded is null until it is chosen

// The nodes of the tree: { key, leaves, distance, children, parent }. A node's key is its first leaf and its size.
function buildTree() {
  const nodes = new Map(), nodeOf = (id) => nodes.get(id) ?? makeNode([id], 0, []);
  const makeNode = (leaves, distance, children) => ({ key: `${leaves[0]}-${leaves.length}`, leaves, distance, children, parent: null });
  let roots = new Map([...state.clusters.keys()].map((id) => [id, makeNode([id], 0, [])]));
  for (const [id, node] of roots) nodes.set(id, node);
  for (const [a, b, distance] of presentMerges()) {
    const children = [nodeOf(a), nodeOf(b)];
    if (children[0] === children[1]) continue;
    const node = makeNode(children.flatMap((child) => child.leaves), Math.max(distance, ...children.map((child) => child.distance)), children);
    for (const child of children) child.parent = node;
    for (const id of node.leaves) nodes.set(id, node);
  }
  roots = [...new Set(nodes.values())].sort((a, b) => b.leaves.length - a.leaves.length);
  return roots; // the tree, and clusters that are not in it because they were split off
}

const sizeOfNode = (node) => node.part?.rows.length ?? node.leaves.reduce((sum, id) => sum + sizeOf(id), 0);

function listNodes(roots) {
  const all = [], visit = (node) => { all.push(node); node.children.forEach(visit); };
  roots.forEach(visit);
  return all;
}

// Fold the small subtrees of a large tree: those that a cut into MAX_TREE_ROWS groups leaves together.
function chooseFolded(roots) {
  const n = roots.reduce((sum, root) => sum + root.leaves.length, 0);
  if (n <= MAX_TREE_ROWS) return new Set();
  const inner = listNodes(roots).filter((node) => node.children.length).sort((a, b) => a.distance - b.distance || a.leaves.length - b.leaves.length);
  return new Set(inner.slice(0, n - MAX_TREE_ROWS).map((node) => node.key));
}

// A node's name: that of the group with just these clusters, else that of the largest cluster.
function nameOfNode(node) {
  if (node.part) return node.part.name;
  if (node.leaves.length === 1) return clusterName(node.leaves[0]);
  return nameGroup(node.leaves);
}

function rowsOfNode(node) {
  if (node.part) return node.part.rows;
  const members = new Set(node.leaves), rows = [];
  for (let row = 0; row < N; row++) if (members.has(state.cluster[row])) rows.push(row);
  return rows;
}

function describeNode(node) {
  if (node.part) return [node.part.name, formatTexts(node.part.rows.length), `part of ${isolate(clusterName(node.leaves[0]))}`];
  const members = [...node.leaves].sort(bySize), shown = members.slice(0, 12).map((id) => `${isolate(clusterName(id))} (${formatCount(sizeOf(id))})`);
  if (node.leaves.length === 1) {
    const parts = partsOf(node.leaves[0]).map((part) => `${isolate(part.name)} (${formatCount(part.rows.length)})`);
    return [clusterName(node.leaves[0]), formatTexts(sizeOfNode(node)), ...parts];
  }
  return [`${formatCount(node.leaves.length)} clusters, ${formatTexts(sizeOfNode(node))}`, ...shown, ...(members.length > 12 ? [`and ${members.length - 12} more`] : [])];
}

// The parts of a cluster at a level that is finer than the run's clusters.
function partsOf(id) {
  return state.grouping?.ofRow ? [...state.grouping.groups.values()].filter((group) => group.rows && group.clusters[0] === id) : [];
}

// The colour of a node: that of its group, or none above the groups.
function colourOfNode(node) {
  const groups = new Set(node.leaves.map(shownCluster));
  return groups.size === 1 ? toCss(colourOf([...groups][0])) : "currentColor";
}

function toggleNode(node) {
  if (!node.children.length) return;
  if (treeState.folded.has(node.key)) treeState.folded.delete(node.key);
  else treeState.folded.add(node.key);
  redrawPanel();
}

function selectNode(node) {
  treeState.current = node.key;
  if (node.part) return select(node.part.id);
  if (node.leaves.length === 1 && !isPartitioned(node.leaves[0]) && shownCluster(node.leaves[0]) === node.leaves[0]) return select(node.leaves[0]);
  showRows(rowsOfNode(node), nameOfNode(node));
}

function treeFigure(roots, width) {
  const isNarrow = width < 600, line = 24, names = isNarrow ? 150 : 300, bars = isNarrow ? 36 : 100, sizes = isNarrow ? 0 : 42, left = names + bars + sizes + 10, right = 14;
  const visible = [], rowOf = new Map();
  const visit = (node, level) => {
    node.level = level;
    const isFolded = treeState.folded.has(node.key);
    if (!node.children.length || isFolded) {
      rowOf.set(node, visible.length);
      visible.push(node);
    } else for (const child of node.children) visit(child, level + 1);
  };
  roots.forEach((root) => visit(root, 1));
  const parts = visible.flatMap((node) => (node.leaves.length === 1 ? partsOf(node.leaves[0]).map((part) => [node, part]) : []));
  let y = 4;
  const yOf = new Map();
  for (const node of visible) {
    yOf.set(node, y + line / 2);
    y += line + 16 * parts.filter(([one]) => one === node).length;
  }
  const height = y + 6, largest = Math.max(...roots.map((root) => root.distance), 1e-9), largestSize = Math.max(...visible.map(sizeOfNode), 1);
  const x = (distance) => left + (distance / largest) * (width - left - right);
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "chart dendrogram", role: "tree", "aria-label": "Tree of the clusters. Arrow keys move, left and right fold and unfold, Enter selects." });
  const drawn = []; // the nodes in the order of the arrow keys, with their elements
  const draw = (node) => {
    const isRow = rowOf.has(node), element_ = svgElement("g", { role: "treeitem", tabindex: -1, "data-key": "node-" + node.key, "data-node": node.key, "aria-level": node.level, "aria-selected": String(treeState.current === node.key), "aria-label": `${nameOfNode(node)}: ${describeNode(node)[node.leaves.length === 1 ? 1 : 0]}` });
    if (node.children.length) element_.setAttribute("aria-expanded", String(!isRow));
    drawn.push([node, element_]);
    const colour = colourOfNode(node), at = x(node.distance);
    if (isRow) {
      const middle = yOf.get(node), size = sizeOfNode(node), barWidth = Math.max(2, (size / largestSize) * bars);
      const label = `${node.children.length ? "▸ " : ""}${shorten(nameOfNode(node), isNarrow ? 20 : 42)}`;
      element_.append(
        svgElement("rect", { x: 0, y: middle - line / 2, width: left, height: line, class: "row" }),
        svgElement("text", { x: names - 8, y: middle + 4, "text-anchor": "end" }, label),
        svgElement("rect", { x: names, y: middle - 7, width: barWidth, height: 14, fill: colour === "currentColor" ? toCss(GREY) : colour, class: "bar" }),
        svgElement("text", { x: names + barWidth + 5, y: middle + 4, class: "size" }, isNarrow ? "" : formatCount(size)));
      if (node.children.length) svg.append(svgElement("polygon", { points: `${left},${middle} ${at},${middle - 6} ${at},${middle + 6}`, fill: colour, opacity: 0.5 }));
      svg.append(element_);
      parts.filter(([one]) => one === node).forEach(([, part], i) => {
        const at_ = middle + line / 2 + 16 * i + 8;
        const partNode = { key: `part-${part.id}`, leaves: node.leaves, part, distance: 0, children: [], parent: node };
        const created = svgElement("g", { role: "treeitem", tabindex: -1, "data-key": "node-" + partNode.key, "data-node": partNode.key, "aria-level": node.level + 1, "aria-selected": String(treeState.current === partNode.key), "aria-label": `${isolate(part.name)}: ${formatTexts(part.rows.length)}` },
          svgElement("rect", { x: 0, y: at_ - 8, width: left, height: 16, class: "row" }),
          svgElement("text", { x: names - 8, y: at_ + 4, "text-anchor": "end", class: "part" }, shorten(part.name, isNarrow ? 18 : 38)),
          svgElement("rect", { x: names, y: at_ - 5, width: Math.max(2, (part.rows.length / largestSize) * bars), height: 10, fill: toCss(colourOf(part.id)), class: "bar" }));
        drawn.push([partNode, created]);
        svg.append(created);
      });
      return middle;
    }
    const place = drawn.length - 1, ys = node.children.map(draw), middle = (ys[0] + ys[1]) / 2;
    node.children.forEach((child, i) => {
      const isFolded = rowOf.has(child) && child.children.length, colour_ = colourOfNode(child);
      svg.append(svgElement("line", { x1: rowOf.has(child) && !isFolded ? left : x(child.distance), x2: at, y1: ys[i], y2: ys[i], stroke: colour_, class: "branch" }));
    });
    drawn[place][1].append(svgElement("line", { x1: at, x2: at, y1: ys[0], y2: ys[1], stroke: colour, class: "branch" }), svgElement("circle", { cx: at, cy: middle, r: 12, class: "target" }), svgElement("circle", { cx: at, cy: middle, r: 5, fill: colour === "currentColor" ? "var(--back)" : colour, stroke: "currentColor" }));
    svg.append(drawn[place][1]);
    return middle;
  };
  roots.forEach(draw);
  const cut = cutDistance(roots);
  if (cut !== null) svg.append(svgElement("line", { x1: x(cut), x2: x(cut), y1: 0, y2: height, class: "cut", "stroke-dasharray": "5 4" }));
  addTreeKeys(svg, drawn);
  return svg;
}

// The distance between the last merge within the groups and the first merge that is cut; null without a cut of the tree.
function cutDistance(roots) {
  const { grouping } = state, distances = roots.flatMap((root) => listNodes([root])).filter((node) => node.children.length).map((node) => node.distance).sort((a, b) => a - b);
  if (!grouping || grouping.ofRow || !distances.length) return null;
  const n = distances.length - (grouping.n - roots.length), below = distances[n - 1] ?? 0, above = distances[n];
  return above === undefined ? null : (below + above) / 2;
}

// One tab stop for the whole tree, in which the arrow keys move as in other trees.
function addTreeKeys(svg, drawn) {
  const byNode = new Map(drawn), nodes = drawn.map(([node]) => node);
  const start = byNode.get(nodes.find((node) => node.key === treeState.current) ?? nodes[0]);
  start?.setAttribute("tabindex", 0);
  const tip = (node, box, event) => showPanelTip(event?.clientX ?? box.left, event?.clientY ?? box.bottom - 14, describeNode(node));
  for (const [node, created] of drawn) {
    created.addEventListener("click", () => selectNode(node));
    created.addEventListener("dblclick", () => toggleNode(node));
    created.addEventListener("pointermove", (event) => tip(node, null, event));
    created.addEventListener("pointerleave", hideTip);
    created.addEventListener("focus", () => {
      for (const [, other] of drawn) other.setAttribute("tabindex", other === created ? 0 : -1);
      if (created.matches(":focus-visible")) tip(node, created.getBoundingClientRect());
    });
    created.addEventListener("blur", hideTip);
    created.addEventListener("keydown", (event) => {
      const i = nodes.indexOf(node), isOpen = node.children.length && !treeState.folded.has(node.key);
      const focus = (other) => other && byNode.get(other)?.focus();
      const action = {
        ArrowDown: () => focus(nodes[i + 1]), ArrowUp: () => focus(nodes[i - 1]), Home: () => focus(nodes[0]), End: () => focus(nodes[nodes.length - 1]),
        ArrowRight: () => (isOpen ? focus(node.children[0]) : toggleNode(node)),
        ArrowLeft: () => (isOpen ? toggleNode(node) : focus(node.parent)),
        Enter: () => selectNode(node), " ": () => selectNode(node), Escape: hideTip,
      }[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    });
  }
}

// What was clicked, with what can be done with it.
function treeSelection(roots) {
  const part = [...(state.grouping?.groups.values() ?? [])].find((group) => group.rows && `part-${group.id}` === treeState.current);
  const node = part ? { key: treeState.current, leaves: part.clusters, part, children: [] } : listNodes(roots).find((one) => one.key === treeState.current);
  if (!node) return element("p", { class: "meta" }, "Click a name or a branch point to highlight its texts on the map; a double click folds a branch.");
  const members = node.leaves.length > 1 ? `${formatCount(node.leaves.length)} clusters, ` : "";
  const button = (label, action, onclick) => element("button", { type: "button", "data-key": "tree-" + action, onclick }, label);
  return element("div", { class: "actions" }, element("strong", {}, nameOfNode(node)), element("span", {}, `${members}${formatTexts(sizeOfNode(node))}`),
    button("Read the texts", "read", () => openTexts(rowsOfNode(node), nameOfNode(node))),
    button("Show on the map", "map", () => { openTab("map"); byId("tab-map").focus(); }),
    node.children.length ? button(treeState.folded.has(node.key) ? "Unfold" : "Fold", "fold", () => toggleNode(node)) : null);
}

let treeControl = null; // built once: the slider keeps the focus while the tree is drawn again

function drawTree(panel) {
  const roots = buildTree();
  treeState.folded ??= chooseFolded(roots);
  if (!treeControl) {
    const fold = (label, key, choose) => element("button", { type: "button", "data-key": key, onclick: () => { treeState.folded = choose(); redrawPanel(); } }, label);
    treeControl = element("div", { class: "sticky" }, groupingControl(), element("div", { class: "actions" },
      fold("Unfold all", "unfold-all", () => new Set()),
      fold("Fold to the groups", "fold-groups", () => new Set(listNodes(buildTree()).filter((node) => node.children.length && new Set(node.leaves.map(shownCluster)).size === 1).map((node) => node.key)))),
      element("div", { id: "tree-selection" }));
    panel.replaceChildren(
      element("h2", {}, "Tree of the clusters"),
      element("p", { class: "lead" }, "The further to the left two branches meet, the more similar their texts are. The slider joins similar clusters into groups, on the map and in the list as well; nothing is changed in the files."),
      treeControl, element("div", { id: "tree-figure" }));
  }
  byId("tree-selection").replaceChildren(treeSelection(roots));
  byId("tree-figure").replaceChildren(treeFigure(roots, Math.min(panel.clientWidth - 32, 1100)));
}
