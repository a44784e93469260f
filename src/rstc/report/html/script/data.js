// What the page was given: facts as JSON, numbers packed into base64, texts in pieces that are parsed when asked for.

const content = JSON.parse(document.getElementById("content").textContent);

function unpacked(name, Kind) {
  const bytes = Uint8Array.from(atob(document.getElementById("array-" + name).textContent), (c) => c.charCodeAt(0));
  return new Kind(bytes.buffer);
}

const NONE = 4294967295; // the cluster of a text that has none
const points = {
  x: unpacked("x", Uint16Array), // 0 to 65535, across the map
  y: unpacked("y", Uint16Array),
  cluster: unpacked("cluster", Uint32Array), // when the page was made; `state.cluster` is as corrected since
  confidence: unpacked("confidence", Uint8Array), // in hundredths; UNKNOWN: the text was corrected
};
const UNKNOWN = 255;
const N = points.x.length;

const pieces = [...document.querySelectorAll("script.texts")];
const parsed = new Array(pieces.length);

function text(row) {
  const piece = Math.floor(row / content.texts_a_piece);
  parsed[piece] ??= JSON.parse(pieces[piece].textContent);
  return parsed[piece][row % content.texts_a_piece];
}
