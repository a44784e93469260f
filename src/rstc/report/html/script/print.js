// The printed report: the clusters as a table with typical texts, then Over time and Groups. It is built when the page is
// printed; tabs.css hides everything else.

const PRINTED_TEXTS = 2; // typical texts of each cluster
const PRINTED_LENGTH = 220; // characters of a text

function printedClusters() {
  const shown = [...new Set(shownClusters())].filter((id) => id !== NO_CLUSTER), sizes = new Map(shown.map((id) => [id, rowsOf(id).length]));
  const rows = shown.sort((a, b) => sizes.get(b) - sizes.get(a) || a - b).map((id) => {
    const cluster = state.clusters.get(groupOf(id)?.largest ?? id), keywords = groupOf(id)?.clusters.length > 1 ? groupOf(id).clusters.flatMap((member) => state.clusters.get(member).keywords.slice(0, 2)) : cluster.keywords;
    const typical = cluster.typical.filter((row) => shownClusters()[row] === id).slice(0, PRINTED_TEXTS);
    return element("tr", {},
      element("th", { scope: "row" }, colourDot(id), " ", element("bdi", {}, clusterName(id))),
      element("td", { class: "number" }, formatCount(sizes.get(id)), element("br"), formatPercent(sizes.get(id) / N)),
      element("td", {}, keywords.slice(0, 8).join(", ")),
      element("td", {}, ...(cluster.description ? [element("p", {}, cluster.description)] : []), ...typical.map((row) => element("p", { class: "quote" }, `“${shorten(textOf(row), PRINTED_LENGTH)}”`))));
  });
  return element("table", {}, element("thead", {}, element("tr", {}, ...["Cluster", "Texts", "Keywords", "Typical texts"].map((name) => element("th", { scope: "col" }, name)))), element("tbody", {}, ...rows));
}

function printedTrends() {
  const { clusters, column, every } = content.over_time;
  const changed = clusters.filter((cluster) => cluster.trend !== "steady").sort(compareTrends);
  return [
    element("h2", {}, "Over time"),
    element("p", {}, `By column “${column}”, per ${every}.`),
    timeOverview(680),
    changed.length ? element("ul", {}, ...changed.map((cluster) => element("li", {}, element("strong", {}, nameOf(cluster.id)), ` (${cluster.trend}): ${isolateQuotes(cluster.sentence)}`))) : element("p", {}, "No cluster grows or fades."),
  ];
}

function printedGroups() {
  return content.groups.flatMap((group) => [
    element("h2", {}, `Groups by ${group.column}`),
    element("p", {}, describeEffect(group)),
    element("ul", {}, ...group.findings.map((sentence) => element("li", {}, sentence))),
  ]);
}

function buildPrint() {
  byId("print").replaceChildren(...[
    element("h2", {}, "Clusters"),
    printedClusters(),
    ...(HAS_PANEL.time() ? printedTrends() : []),
    ...(HAS_PANEL.groups() ? printedGroups() : []),
  ]);
}

function startPrint() {
  window.addEventListener("beforeprint", buildPrint);
  window.matchMedia("print").addEventListener("change", (event) => { if (event.matches) buildPrint(); });
}
