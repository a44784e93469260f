// The colours of clusters: hues, and further rounds of them in other shades; names and what is lit tell like ones apart.

const { hues: HUES, shades: SHADES } = content.colours;
const GREY = rgb(content.colours.grey);
const COLOURS = HUES.length * SHADES.length;

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function colourOf(cluster) {
  if (cluster === NONE || cluster < 0) return GREY;
  const shade = SHADES[Math.floor(cluster / HUES.length) % SHADES.length];
  return rgb(HUES[cluster % HUES.length]).map((part) =>
    Math.round(shade < 0 ? part * (1 + shade) : part + (255 - part) * shade));
}

function css(colour, opacity = 1) {
  return `rgba(${colour.join(",")},${opacity})`;
}
