// Downloads: made in the page, so that nothing is asked twice.

import { h } from "/page/dom.js";

export function save(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export const saveJson = (name, content) =>
  save(name, JSON.stringify(content, null, 1) + "\n", "application/json");

const cell = (value) => {
  const text = value == null ? "" : Array.isArray(value) ? value.join(" ") : String(value);
  // A leading =, + or @ would be run as a formula by a spreadsheet; SMILES may begin so.
  const safe = /^[=+@]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

/** `columns` are [title, row => value]. */
export function saveCsv(name, columns, rows) {
  const lines = [columns.map(([title]) => cell(title)), ...rows.map((row) => columns.map(([, value]) => cell(value(row))))];
  save(name, lines.map((line) => line.join(",")).join("\n") + "\n", "text/csv");
}

/** An SVG element as a file of its own. */
export function svgText(svg) {
  const copy = svg.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  for (const atom of copy.querySelectorAll(".hit")) atom.remove();
  return new XMLSerializer().serializeToString(copy);
}

/** The same as PNG, on white, at twice the size. */
export async function svgPng(svg) {
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svgText(svg)], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = h("canvas", { width: 2 * width, height: 2 * height });
  const context = canvas.getContext("2d");
  context.fillStyle = "#ffffff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
