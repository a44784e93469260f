// Export texts as CSV, created in the page and saved by the browser.

function csvCell(value) {
  if (typeof value === "number") return String(value);
  const cell = String(value);
  // A spreadsheet would read a cell that begins with one of these characters as a formula.
  const safe = /^[=+\-@\t\r]/.test(cell) ? "'" + cell : cell;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function toCsv(rows) {
  const lines = rows.map((row) => {
    const cluster = state.cluster[row];
    const confidence = confidenceOf(row);
    const cells = [content.rows ? content.rows[row] : row + 1, textOf(row), cluster === NO_CLUSTER ? -1 : cluster, clusterName(cluster), confidence === null ? "" : confidence / 100, confidence === null ? "" : confidenceLevel(confidence)];
    return cells.map(csvCell).join(",");
  });
  return ["row,text,cluster,name,confidence,confidence_level", ...lines].join("\r\n") + "\r\n";
}

function startExport() {
  byId("export-do").addEventListener("click", () => {
    const selection = byId("export").value;
    const rows = selection === "all" ? Array.from({ length: N }, (_, row) => row) : rowsInDetail();
    if (!rows.length) return void (byId("hits").textContent = "no text is shown");
    const url = URL.createObjectURL(new Blob(["\ufeff" + toCsv(rows)], { type: "text/csv;charset=utf-8" }));
    const link = element("a", { href: url, download: selection === "all" ? "clusters.csv" : "selection.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  });
}
