// Seven hues that colour-blind readers can tell apart: those of Okabe and Ito, but a darker yellow. More clusters have
// them darker and then lighter, and then again; those may look alike, and names and what is lit tell them apart.

const HUES = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a7a00"];
const SHADES = [0, -0.28, 0.32];
const GREY = [128, 134, 142];
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
