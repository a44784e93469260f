// The content of the page: JSON, arrays packed in base64, and blocks of texts that are parsed when they are needed.

const content = JSON.parse(document.getElementById("content").textContent);

function unpack(name, ArrayType) {
  const bytes = Uint8Array.from(atob(document.getElementById("array-" + name).textContent), (c) => c.charCodeAt(0));
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

const textBlocks = [...document.querySelectorAll("script.texts")];
const parsedBlocks = new Array(textBlocks.length);

function textOf(row) {
  const block = Math.floor(row / content.block_texts);
  parsedBlocks[block] ??= JSON.parse(textBlocks[block].textContent);
  return parsedBlocks[block][row % content.block_texts];
}
