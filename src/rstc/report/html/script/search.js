// Search all texts; hits are highlighted on the map and listed.

function search(query) {
  state.query = query.trim();
  if (!state.query) {
    byId("hits").textContent = "";
    return select(null);
  }
  const lowerQuery = state.query.toLowerCase(), rows = [];
  for (let row = 0; row < N; row++) if (textOf(row).toLowerCase().includes(lowerQuery)) rows.push(row);
  byId("hits").textContent = `${formatCount(rows.length)} of ${formatCount(N)} texts`;
  showRows(rows, formatTexts(rows.length));
}

function startSearch() {
  let timer = 0;
  byId("search").addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => search(event.target.value), 150);
  });
}
