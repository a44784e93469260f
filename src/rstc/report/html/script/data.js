// The content of the page: JSON, arrays packed in base64, and blocks of texts that are parsed when they are needed.

const content = JSON.parse(document.getElementById("content").textContent);

function unpack(name, ArrayType) {
  const packed = document.getElementById("array-" + name);
  if (!packed) return null;
  const binary = atob(packed.textContent), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return new ArrayType(bytes.buffer);
}

// Codes in the packed arrays, as in render.py.
const NO_CLUSTER = 4294967295; // the text has no cluster
const NO_CONFIDENCE = 255; // the text was corrected

const points = {
  x: unpack("x", Uint16Array), // from 0 to 65535
  y: unpack("y", Uint16Array),
  cluster: unpack("cluster", Uint32Array), // when the page was made; `state.cluster` has later corrections
  confidence: unpack("confidence", Uint8Array), // in percent, or NO_CONFIDENCE
};
const N = points.x.length;

// The nearest texts of each text by their embeddings, N times as many as each has; null in runs without them.
const neighbours = unpack("neighbours", N <= 65536 ? Uint16Array : Uint32Array);
const N_NEIGHBOURS = neighbours && N ? neighbours.length / N : 0;

function neighboursOf(row) {
  return neighbours ? [...neighbours.subarray(row * N_NEIGHBOURS, (row + 1) * N_NEIGHBOURS)] : [];
}

// Strings in blocks of `content.block_texts`, each a script element that is parsed at the first access.
function readBlocks(selector) {
  const blocks = [...document.querySelectorAll(selector)], parsed = new Array(blocks.length);
  return (row) => {
    const block = Math.floor(row / content.block_texts);
    parsed[block] ??= JSON.parse(blocks[block].textContent);
    return parsed[block][row % content.block_texts];
  };
}

const textOf = readBlocks("script.texts");

// Texts as the search compares them: without case and accents. Folded when they are first searched.
const foldedTexts = new Array(N);

function foldedTextOf(row) {
  return (foldedTexts[row] ??= fold(textOf(row)));
}
