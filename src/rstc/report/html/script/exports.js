// Export texts as CSV with all columns of the file, created in the page and saved by the browser.

const CLUSTER_COLUMNS = ["cluster", "cluster_name", "confidence", "confidence_level"]; // as in clusters.csv

function csvCell(value) {
  if (typeof value === "number") return String(value);
  // A spreadsheet would read a cell that begins with one of these characters as a formula.
  const safe = /^[=+\-@＝＋－＠\t\r]/.test(value) && !/^[+-]?\d+(\.\d+)?$/.test(value) ? "'" + value : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function toCsv(rows) {
  const { name, position } = content.text_column;
  const fields = columns.map((column) => [column.name, (row) => cellIn(column, row)]);
  fields.splice(Math.min(position, fields.length), 0, [name, textOf]);
  const lines = rows.map((row) => {
    const cluster = state.cluster[row], isOutlier = cluster === NO_CLUSTER, confidence = isOutlier ? null : confidenceOf(row);
    const found = [isOutlier ? -1 : cluster, isOutlier ? "outlier" : clusterName(cluster), confidence === null ? "" : confidence / 100, confidence === null ? "" : confidenceLevel(confidence)];
    return [...fields.map(([, read]) => read(row)), ...found].map(csvCell).join(",");
  });
  return [[...fields.map(([field]) => field), ...CLUSTER_COLUMNS].map(csvCell).join(","), ...lines].join("\r\n") + "\r\n";
}

const EXPORTS = {
  all: { file: "clusters.csv", rows: () => Array.from({ length: N }, (_, row) => row) },
  filtered: { file: "filtered.csv", rows: () => findRows(() => true) },
  shown: { file: "selection.csv", rows: () => [...new Set([...rowsInDetail(), ...(state.sections ?? []).flatMap((section) => section.rows)])] },
};

function startExport() {
  byId("export-do").addEventListener("click", () => {
    const { file, rows: choose } = EXPORTS[byId("export").value], rows = choose();
    if (!rows.length) return void (byId("hits").textContent = "no text is listed");
    const url = URL.createObjectURL(new Blob(["\ufeff" + toCsv(rows)], { type: "text/csv;charset=utf-8" }));
    element("a", { href: url, download: file }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  });
}
