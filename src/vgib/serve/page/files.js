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

const DIGITS = 5; // of a number that is no whole one, as in the files of `vgib recognize`
const digits = (value) => (typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(DIGITS))) : String(value));

/** A training molecule that is like another: its similarity, what was measured, its structure. */
const neighbor = ({ similarity, measured, smiles }) =>
  [Math.round(100 * similarity) / 100, digits(measured), smiles].filter((part) => part != null).join(" ");

/** Numbers of a list with blanks between them, sentences and neighbors with semicolons. */
function plain(value) {
  if (value == null) return "";
  if (!Array.isArray(value)) return digits(value);
  const isNumbers = value.every((one) => typeof one === "number");
  return value.map((one) => (one !== null && typeof one === "object" ? neighbor(one) : String(one))).join(isNumbers ? " " : "; ");
}

/** Whether a spreadsheet would run a cell; SMILES may begin so, and numbers with signs are none. */
const isFormula = (text) => /^[=+\-@\t\r]/.test(text) && text.trim().split(/\s+/).some((word) => !Number.isFinite(Number(word)));

const cell = (value) => {
  const text = plain(value);
  const safe = isFormula(text) ? `'${text}` : text;
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
