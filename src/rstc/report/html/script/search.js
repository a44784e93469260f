// Search: all words of the query have to occur, in any order, quoted phrases as they are, without regard to case and
// accents. The texts that are nearest in meaning to many of the hits follow them.

const MAX_NEAR = 30; // texts near in meaning to the hits
const MIN_NEAR_SCORE = 0.5;
const MAX_HITS_SHARE = 0.34; // of all texts; nothing is near in meaning to more than that in particular

// The folded words and phrases of a query.
function parseQuery(query) {
  const terms = [...query.matchAll(/["“”„「」]([^"“”„「」]*)["“”„「」]?|([^\s"“”„「」]+)/g)].map(([, phrase, word]) => fold(phrase ?? word).replace(/\s+/g, " ").trim());
  return [...new Set(terms.filter(Boolean))];
}

// Where terms occur in a text: [from, to] in order, without overlaps. Folding may change the length of a text.
function findTerms(text, terms) {
  if (!terms.length) return [];
  let folded = "";
  const origin = []; // for each character of the folded text, the place in the text
  let at = 0;
  for (const [piece, plain] of foldedPieces(text)) {
    for (let i = 0; i < plain.length; i++) origin.push(at);
    folded += plain;
    at += piece.length;
  }
  const spans = [];
  for (const term of terms) {
    for (let at = folded.indexOf(term); at >= 0; at = folded.indexOf(term, at + term.length)) {
      let end = at + term.length;
      while (end < origin.length && origin[end] === origin[end - 1]) end++;
      spans.push([origin[at], end < origin.length ? origin[end] : text.length]);
    }
  }
  spans.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  return spans.filter((span, i) => i === 0 || spans.slice(0, i).every((other) => span[0] >= other[1]));
}

// The texts that are neighbours of hits, or whose neighbours are hits, the most related first.
function nearInMeaning(hits) {
  if (!neighbours || !hits.length || hits.length > MAX_HITS_SHARE * N) return [];
  const isHit = new Set(hits), scores = new Float64Array(N), weight = (rank) => 1 / (1 + rank);
  let total = 0;
  for (let rank = 0; rank < N_NEIGHBOURS; rank++) total += weight(rank);
  for (const hit of hits) neighboursOf(hit).forEach((row, rank) => { scores[row] += weight(rank) / Math.min(hits.length, 4); });
  for (let row = 0; row < N; row++) {
    if (isHit.has(row)) continue;
    for (let rank = 0; rank < N_NEIGHBOURS; rank++) if (isHit.has(neighbours[row * N_NEIGHBOURS + rank])) scores[row] += weight(rank) / total;
  }
  return findRows((row) => !isHit.has(row) && scores[row] >= MIN_NEAR_SCORE * (hits.length < 3 ? 0.5 : 1))
    .sort((a, b) => scores[b] - scores[a] || a - b).slice(0, Math.min(MAX_NEAR, 5 + hits.length));
}

let query = "";

function search(typed) {
  query = typed;
  const terms = parseQuery(typed);
  if (!terms.length) return showOverview();
  const hits = findRows((row) => {
    const text = foldedTextOf(row);
    return terms.every((term) => text.includes(term));
  });
  const near = nearInMeaning(hits), within = state.passing ? `${formatCount(countPassing())} filtered` : formatCount(N);
  const found = `${formatCount(hits.length)} of ${within} texts`;
  byId("hits").textContent = near.length ? `${found}, ${near.length} near in meaning` : found;
  const note = "Without these words, but next to texts that have them.";
  showRows(hits, hits.length ? `${formatTexts(hits.length)} found` : "No text has all of these words", { terms, sections: [{ title: "Near in meaning", note, rows: near }] });
}

function startSearch() {
  const input = byId("search");
  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => search(input.value), 150);
  });
  // The hits are those among the texts that pass the filters.
  let passing = state.passing;
  subscribe(() => {
    if (state.passing === passing) return;
    passing = state.passing;
    if (input.value && state.terms.length) search(input.value);
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input:not([type=range]):not([type=checkbox]), select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      openTab("map");
      input.focus();
      input.select();
    } else if (event.key === "Escape" && (!typing || event.target === input) && openPanel === "map") {
      showOverview();
    }
  });
}
