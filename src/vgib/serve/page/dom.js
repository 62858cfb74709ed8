// Elements from values: no templates, no framework, and no text that could become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria-") && value != null) element.setAttribute(name, String(value));
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

export const h = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);

export const s = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

export const $ = (id) => document.getElementById(id);

export function show(element, isShown) {
  element.hidden = !isShown;
}

export const plural = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

/** Says something to those who listen to the page. */
export function announce(text) {
  $("status").textContent = text;
}

/** A table; `columns` are [title, row => cell, isNumber]. */
export function table(columns, rows, caption) {
  return h(
    "table",
    {},
    h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, columns.map(([title, , isNumber]) =>
      h("th", { scope: "col", class: isNumber ? "right" : null }, title)))),
    h("tbody", {}, rows.map((row) =>
      h("tr", {}, columns.map(([, cell, isNumber]) =>
        h("td", { class: isNumber ? "right" : null }, cell(row)))))),
  );
}
