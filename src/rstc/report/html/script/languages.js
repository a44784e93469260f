// Texts of any script: their direction and language as attributes, where they can be cut, and how the search folds them.

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;
const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]|[\ud840-\ud88f]/;
// The languages of a script, by the frequency of the languages in the run; the first is the default.
const LANGUAGES_OF_SCRIPT = [
  [/[\u3041-\u30ff]/, ["ja"]],
  [/[\u1100-\u11ff\uac00-\ud7a3]/, ["ko"]],
  [/[\u2e80-\u2fdf\u3400-\u9fff\uf900-\ufaff]/, ["zh", "ja", "yue", "wuu"]],
  [/[\u0600-\u06ff]/, ["ar", "fa", "ur", "ps", "ug", "sd"]],
  [/[\u0590-\u05ff]/, ["he"]],
  [/[\u0900-\u097f]/, ["hi", "mr", "ne", "sa"]],
  [/[\u0e00-\u0e7f]/, ["th"]],
  [/[\u0e80-\u0eff]/, ["lo"]],
  [/[\u1000-\u109f]/, ["my"]],
  [/[\u1780-\u17ff]/, ["km"]],
];
const ranks = new Map(Object.keys(content.languages).map((code, rank) => [code, rank]));

// The language of a text by its script, for fonts and line breaks; null for scripts that many languages share.
function languageOf(text) {
  for (const [script, codes] of LANGUAGES_OF_SCRIPT) {
    if (script.test(text)) return [...codes].sort((a, b) => (ranks.get(a) ?? 99) - (ranks.get(b) ?? 99))[0];
  }
  return null;
}

// Attributes of an element that shows such strings as they are. Texts of the page itself are English, left to right.
function scriptAttributes(strings) {
  const text = strings.join(" ");
  if (/^[\u0000-\u024f\u2000-\u206f]*$/.test(text)) return {};
  const language = languageOf(text), direction = RIGHT_TO_LEFT.test(text) ? { dir: "auto" } : {};
  return language ? { lang: language, ...direction } : direction;
}

// A name inside a sentence: what stands before and after it keeps its place, whatever the direction of the name.
function isolate(name) {
  return RIGHT_TO_LEFT.test(name) ? `\u2068${name}\u2069` : name;
}

// A sentence that quotes names, with every name isolated.
function isolateQuotes(sentence) {
  return sentence.replace(/'([^']+)'/g, (_, name) => `'${isolate(name)}'`);
}

// How many columns a text takes, in which Chinese, Japanese and Korean characters are twice as wide as others.
function columnsOf(text) {
  let columns = 0;
  for (const character of text) if (!/\p{M}/u.test(character)) columns += WIDE.test(character) ? 2 : 1;
  return columns;
}

// A text cut to a number of columns, not inside a character and its marks.
function shorten(text, columns) {
  if (text.length <= columns / 2 || columnsOf(text) <= columns) return text;
  let kept = "", used = 0;
  for (const [cluster] of text.matchAll(/[\s\S]\p{M}*/gu)) {
    used += columnsOf(cluster);
    if (used > columns - 1) break;
    kept += cluster;
  }
  return kept + "…";
}

// A text as the search compares it: without case, accents and vowel signs that may be left out, and in one width. Marks
// of other scripts are letters of their own: Thai and Hindi vowels, the voiced sounds of Japanese.
function fold(text) {
  if (/^[\u0000-\u007f]*$/.test(text)) return text.toLowerCase();
  return text.normalize("NFKD").replace(/([\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Hebrew}\p{Script=Arabic}])\p{Mn}+/gu, "$1")
    .normalize("NFC").toLowerCase().replace(/ı/g, "i").replace(/ς/g, "σ").replace(/ß/g, "ss").replace(/ـ/g, "");
}

// The pieces of a text that are folded one by one: characters with their marks.
function foldedPieces(text) {
  return [...text.matchAll(/[\s\S][\p{M}\uff9e\uff9f]*/gu)].map(([piece]) => [piece, fold(piece)]);
}
