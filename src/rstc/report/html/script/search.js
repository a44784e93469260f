// Search over all texts; the hits are lit on the map and listed.

function search(query) {
  state.query = query.trim();
  if (!state.query) {
    byId("hits").textContent = "";
    return select(null);
  }
  const wanted = state.query.toLowerCase(), rows = [];
  for (let row = 0; row < N; row++) if (text(row).toLowerCase().includes(wanted)) rows.push(row);
  byId("hits").textContent = `${count(rows.length)} of ${count(N)} texts`;
  showRows(rows, texts(rows.length));
}

function startSearch() {
  let waiting = 0;
  byId("search").addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => search(event.target.value), 150);
  });
}
