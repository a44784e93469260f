// Texts as CSV, made in the page and saved by the browser.

function csvCell(value) {
  if (typeof value === "number") return String(value);
  const cell = String(value);
  // A spreadsheet would take what begins with these signs for a formula.
  const safe = /^[=+\-@\t\r]/.test(cell) ? "'" + cell : cell;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function csvOf(rows) {
  const lines = rows.map((row) => {
    const cluster = state.cluster[row];
    const sure = sureness(row);
    const cells = [content.rows ? content.rows[row] : row + 1, text(row), cluster === NONE ? -1 : cluster, nameOf(cluster), sure === null ? "" : sure / 100];
    return cells.map(csvCell).join(",");
  });
  return ["row,text,cluster,name,confidence", ...lines].join("\r\n") + "\r\n";
}

function startExport() {
  byId("export-do").addEventListener("click", () => {
    const which = byId("export").value;
    const rows = which === "all" ? Array.from({ length: N }, (_, row) => row) : shownRows();
    if (!rows.length) return void (byId("hits").textContent = "no text is shown");
    const address = URL.createObjectURL(new Blob(["\ufeff" + csvOf(rows)], { type: "text/csv;charset=utf-8" }));
    const link = element("a", { href: address, download: which === "all" ? "clusters.csv" : "selection.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  });
}
