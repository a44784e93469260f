// Colours of clusters, as in colours.py: the hues, then the hues in other shades, then from the start.

const { hues: HUES, shades: SHADES } = content.colours;
const GREY = parseColour(content.colours.grey);

function parseColour(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

function colourOf(cluster) {
  if (groupOf(cluster)) return groupColour(groupOf(cluster));
  if (cluster === NO_CLUSTER || cluster < 0) return GREY;
  const shade = SHADES[Math.floor(cluster / HUES.length) % SHADES.length];
  return parseColour(HUES[cluster % HUES.length]).map((channel) =>
    Math.round(shade < 0 ? channel * (1 + shade) : channel + (255 - channel) * shade));
}

function toCss(colour, opacity = 1) {
  return `rgba(${colour.join(",")},${opacity})`;
}
