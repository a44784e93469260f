// The overview, shown while nothing is selected: what the run found, what is new, and what to look at first.

const N_LARGEST = 5;
const MAX_HINTS = 6;
const MAX_TRENDS = 4;

function statTile(value, label, onclick) {
  const parts = [element("strong", {}, value), element("span", {}, label)];
  return onclick ? element("button", { type: "button", class: "tile", onclick }, ...parts) : element("div", { class: "tile" }, ...parts);
}

function shareBar(share, colour) {
  const fill = element("span", { class: "bar-fill" });
  Object.assign(fill.style, { width: 100 * share + "%", background: toCss(colour) });
  return element("span", { class: "share", "aria-hidden": "true" }, fill);
}

function tiles(sizes) {
  const count = (some) => [...some].filter(([id, size]) => id !== NO_CLUSTER && size > 0).length, ungrouped = clusterSizes(state.passing !== null, false);
  const n = count(sizes), rated = [...state.clusters.values()].filter((cluster) => ungrouped.get(cluster.id) > 0 && cluster.reliability);
  const again = rated.filter(({ reliability }) => 2 * reliability.n_found >= reliability.n_repeats).length;
  return element("div", { class: "tiles" },
    statTile(formatCount(countPassing()), state.passing ? `of ${formatTexts(N)} pass the filters` : "texts"),
    statTile(formatCount(n), state.grouping ? `${n > count(ungrouped) ? "parts" : "groups"} of ${formatCount(count(ungrouped))} clusters` : n === 1 ? "cluster" : "clusters"),
    rated.length ? statTile(`${again} of ${rated.length}`, "found again in most repeats") : null);
}

// Clusters by size; with filters, by how much more of the texts they hold than without.
function largestClusters(sizes, totals) {
  const shown = countPassing(), share = (id) => sizes.get(id) / Math.max(shown, 1), lift = (id) => share(id) / (totals.get(id) / N);
  const ids = [...sizes.keys()].filter((id) => id !== NO_CLUSTER && sizes.get(id) > 0).sort((a, b) => sizes.get(b) - sizes.get(a) || a - b).slice(0, N_LARGEST);
  const largest = Math.max(...ids.map(share), 1e-9);
  const rows = ids.map((id) => element("button", { type: "button", class: "largest", "data-cluster": id, onclick: () => { select(id); scrollToTexts(); } },
    element("span", { class: "name" }, clusterName(id)),
    element("span", { class: "count" }, `${formatCount(sizes.get(id))} · ${formatPercent(share(id))}`, state.passing ? element("span", { class: "lift", title: "its share of these texts, compared with its share of all texts" }, ` · ${lift(id).toFixed(1)} × usual`) : null),
    shareBar(share(id) / largest, colourOf(id))));
  return [element("h3", {}, state.passing ? "The largest clusters of the filtered texts" : "The largest clusters"), element("div", { class: "largest-list" }, ...rows)];
}

const changedClusters = () => (content.over_time?.clusters ?? []).filter(({ id, trend }) => trend !== "steady" && state.clusters.has(id));

// What is new since earlier runs and in the course of time, if the run knows.
function newsItems() {
  const items = [];
  for (const { file, rows, date } of content.updates ?? []) items.push(element("li", {}, `${formatTexts(rows)} added from ${file} (${date.slice(0, 10)})`));
  for (const proposal of state.proposals.filter(({ status }) => status === "open")) {
    const show = () => { openTab("proposals"); document.querySelector(`[data-proposal="${proposal.id}"]`).scrollIntoView(); };
    items.push(element("li", {}, "Proposed cluster: ", actionButton(proposal.name, show, { class: "link", "data-action": "to-proposal" }), ` (${formatTexts(proposal.size)})`));
  }
  for (const { id, trend, sentence } of changedClusters().sort(compareTrends).slice(0, MAX_TRENDS)) {
    const [before, after] = (sentence ?? "").split(`'${nameOf(id)}'`, 2); // most sentences name the cluster
    items.push(element("li", {}, element("span", { class: "badge" }, trend), " ", ...(after === undefined ? [clusterLink(id), ` ${before}`] : [before, clusterLink(id), after])));
  }
  return items;
}

// Hints on what to look at first, the most important first: [node].
function hints() {
  const sizes = clusterSizes(state.passing !== null, false);
  const found = [], entries = [...state.clusters.values()].filter((cluster) => sizes.get(cluster.id) > 0), means = meanConfidences(false);
  const rowsLink = (rows, label, about) => actionButton(label, () => { showRows(rows, about); scrollToTexts(); }, { class: "link" });
  const isMixed = (cluster) => sizes.get(cluster.id) > (1.5 * N) / Math.max(entries.length, 1) && means.get(cluster.id) < content.confidence_levels[1];
  const mixed = entries.filter(isMixed).sort((a, b) => sizes.get(b.id) - sizes.get(a.id)).slice(0, 2);
  for (const cluster of mixed) {
    found.push([clusterLink(cluster.id), ` is large and mixed: the mean confidence of its ${formatTexts(sizes.get(cluster.id))} is ${formatPercent(means.get(cluster.id))}. It may hold several topics.`]);
  }
  const unstable = entries.filter((cluster) => cluster.reliability?.level === "unstable" && !mixed.includes(cluster)).sort((a, b) => sizes.get(b.id) - sizes.get(a.id));
  for (const cluster of unstable.slice(0, 2)) found.push([clusterLink(cluster.id), ` is unstable: ${isolateQuotes(cluster.reliability.sentence)}.`]);
  if (unstable.length > 2) found.push([`${unstable.length - 2} more unstable clusters: `, actionButton("sort the list by stability", () => { byId("order").value = "stability"; drawList(); byId("show-clusters").click(); byId("clusters").focus(); }, { class: "link" }), "."]);
  const outliers = findRows((row) => state.cluster[row] === NO_CLUSTER);
  if (outliers.length) found.push([rowsLink(outliers, formatTexts(outliers.length), "Texts without a cluster"), ` ${outliers.length === 1 ? "is" : "are"} in no cluster (${formatPercent(outliers.length / N)}).`]);
  const [medium] = content.confidence_levels, low = findRows((row) => state.cluster[row] !== NO_CLUSTER && confidenceOf(row) !== null && confidenceOf(row) < 100 * medium);
  if (low.length) {
    const ranked = low.sort((a, b) => confidenceOf(a) - confidenceOf(b));
    found.push([rowsLink(ranked, formatTexts(low.length), "Texts of low confidence, the least certain first"), ` ${low.length === 1 ? "has" : "have"} low confidence (${formatPercent(low.length / Math.max(countPassing(), 1))}): another analysis would probably place them elsewhere.`]);
  }
  return found.slice(0, MAX_HINTS);
}

function listSection(title, items, id) {
  return items.length ? [element("h3", {}, title), element("ul", { class: "hints", id }, ...items)] : [];
}

function overview() {
  const totals = clusterSizes(), sizes = state.passing ? clusterSizes(true) : totals;
  const messages = (content.messages ?? []).map(({ text, advice, level }) =>
    element("li", { "data-level": level }, text, advice ? element("span", { class: "meta" }, ` ${advice}`) : null));
  return [
    element("h2", {}, "Overview"),
    tiles(sizes),
    content.reliability ? element("p", { class: content.reliability.warning ? "note warning" : "note", id: "trust" }, content.reliability.sentence) : null,
    content.language_sentence ? element("p", { class: "meta", id: "languages" }, `Languages: ${content.language_sentence}`) : null,
    state.passing ? actionButton(`Read the ${formatTexts(countPassing())}`, () => { showRows(findRows(() => true), "Texts that pass the filters"); scrollToTexts(); }, { "data-action": "read-filtered" }) : null,
    ...largestClusters(sizes, totals),
    ...listSection("What is new", newsItems(), "news"),
    changedClusters().length ? actionButton(`Over time: ${changedClusters().length} of ${formatCount(content.over_time.clusters.length)} clusters changed`, () => openTab("time"), { class: "link", "data-action": "to-trends" }) : null,
    ...listSection("Good to know", messages, "messages"),
    ...listSection("What to look at first", hints().map((parts) => element("li", {}, ...parts)), "hints"),
    element("p", { class: "meta help" }, "Click a point or a name on the map, draw around texts with the lasso, or press / to search."),
  ].filter((part) => part !== null);
}
