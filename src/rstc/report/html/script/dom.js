// Create elements from tags, attributes and children. Strings become text nodes: nothing here parses markup.

function element(tag, attributes = {}, ...children) {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) created.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) created.setAttribute(name, value === true ? "" : value);
  }
  created.append(...children.filter((child) => child !== null));
  return created;
}

function svgElement(tag, attributes = {}, ...children) {
  const created = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, value);
  created.append(...children);
  return created;
}

const byId = (id) => document.getElementById(id);
const formatPercent = (share) => (share === null || share === undefined ? "–" : (100 * share).toFixed(1) + " %");
const formatCount = (number) => number.toLocaleString("en");
const formatTexts = (number) => `${formatCount(number)} text${number === 1 ? "" : "s"}`;
const shorten = (text, length) => (text.length > length ? text.slice(0, length - 1) + "…" : text);

function colourDot(cluster) {
  const created = element("span", { class: "dot", "aria-hidden": "true" });
  created.style.background = toCss(colourOf(cluster));
  return created;
}
