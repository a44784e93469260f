// Start the page: title, theme, and all its parts.

function startTheme() {
  const root = document.documentElement, dark = window.matchMedia("(prefers-color-scheme: dark)");
  root.dataset.theme = dark.matches ? "dark" : "light";
  byId("theme").addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    pointStyles = null;
    drawLegend();
    redraw();
    if (openPanel !== "map") redrawPanel();
  });
}

byId("title").textContent = content.title;
startTheme();
startTabs();
startList();
startDetail();
startLegend();
startFilters();
startMap();
startGrouping();
startSearch();
startExport();
startPrint();
startEditing();
document.documentElement.dataset.ready = "true";
