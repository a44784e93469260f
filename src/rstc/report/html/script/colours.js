// Colours of clusters, which colours.py computed; of the values of columns; and of text in the colour of a cluster.

const HUES = content.colours.hues;
const GREY = parseColour(content.colours.grey);

// Viridis (Smith and van der Walt, 2015) at equal distances: a ramp in which equal steps look equally large.
const RAMP = ["#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725"].map(parseColour);
const CATEGORY_COLOURS = content.colours.categories; // of the most frequent values of a column; further ones are grey

function parseColour(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

// On a dark page, dark colours are mixed with white until they can be seen.
const MIN_POINT_CONTRAST = 3;
const adaptedColours = new Map();

function colourOf(cluster) {
  if (groupOf(cluster)) return groupColour(groupOf(cluster));
  const colour = state.clusters.get(cluster)?.colour;
  if (!colour || !isDark()) return colour ? parseColour(colour) : GREY;
  if (!adaptedColours.has(colour)) adaptedColours.set(colour, readableColour(parseColour(colour), themeColour("--back"), [255, 255, 255], MIN_POINT_CONTRAST, 0));
  return adaptedColours.get(colour);
}

// A colour of the ramp, from 0 to 1. Its dark end is left out on a dark page, its bright end on a bright one.
function rampColour(share) {
  const [low, high] = isDark() ? [0.2, 1] : [0, 0.9];
  const place = (low + Math.min(1, Math.max(0, share)) * (high - low)) * (RAMP.length - 1);
  const i = Math.min(RAMP.length - 2, Math.floor(place));
  return mixColours(RAMP[i], RAMP[i + 1], place - i);
}

// The colour of a value of a column, by its rank.
function categoryColour(column, code) {
  const colours = column.values.length <= HUES.length ? HUES : CATEGORY_COLOURS;
  return code < colours.length && code < column.values.length ? parseColour(colours[code]) : GREY;
}

function isDark() {
  return document.documentElement.dataset.theme === "dark";
}

function mixColours(a, b, share) {
  return a.map((channel, i) => Math.round(channel + (b[i] - channel) * share));
}

function toCss(colour, opacity = 1) {
  return `rgba(${colour.join(",")},${opacity})`;
}

// Relative luminance and contrast as WCAG defines them.
function luminanceOf(colour) {
  const [r, g, b] = colour.map((channel) => {
    const value = channel / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrastOf(a, b) {
  const [high, low] = [luminanceOf(a), luminanceOf(b)].sort((one, other) => other - one);
  return (high + 0.05) / (low + 0.05);
}

// A colour of the theme, such as "--ink".
const themeColours = { theme: null };

function themeColour(name) {
  const { theme } = document.documentElement.dataset;
  if (themeColours.theme !== theme) for (const known of Object.keys(themeColours)) delete themeColours[known];
  themeColours.theme = theme;
  return (themeColours[name] ??= parseColour(getComputedStyle(document.documentElement).getPropertyValue(name).trim()));
}

// A colour that is mixed with that of the text until it can be read on the page's background.
function readableColour(colour, back, ink, wanted, least = 0.15) {
  for (let share = least; share < 1; share += 0.05) {
    const mixed = mixColours(colour, ink, share);
    if (contrastOf(mixed, back) >= wanted) return mixed;
  }
  return ink;
}

function colourDot(cluster) {
  const created = element("span", { class: "dot", "aria-hidden": "true" });
  created.style.background = toCss(colourOf(cluster));
  return created;
}
