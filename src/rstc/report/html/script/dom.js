// Elements, made of tags, attributes and children. Text is always text: nothing here reads markup.

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

function drawing(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);
const percent = (share) => (share === null || share === undefined ? "–" : (100 * share).toFixed(1) + " %");
const count = (number) => number.toLocaleString("en");
const texts = (number) => `${count(number)} text${number === 1 ? "" : "s"}`;

function dot(cluster) {
  const made = element("span", { class: "dot", "aria-hidden": "true" });
  made.style.background = css(colourOf(cluster));
  return made;
}
