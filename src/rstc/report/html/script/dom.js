// Create elements from tags, attributes and children. Strings become text nodes: nothing here parses markup.

function element(tag, attributes = {}, ...children) {
  const created = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) created.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) created.setAttribute(name, value === true ? "" : value);
  }
  const shown = children.filter((child) => child !== null && child !== undefined), strings = shown.filter((child) => typeof child === "string");
  for (const [name, value] of Object.entries(scriptAttributes(strings))) if (!created.hasAttribute(name)) created.setAttribute(name, value);
  created.append(...shown);
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
const capitalise = (sentence) => sentence[0].toUpperCase() + sentence.slice(1);

function actionButton(label, onclick, attributes = {}) {
  return element("button", { type: "button", ...attributes, onclick }, label);
}
