// The rings, groups and chains of a molecule. The piece under the pointer or the keyboard is shown
// in the picture, since two of them may have the same SMILES.

import { h, table } from "/page/dom.js";
import { signed } from "/page/numbers.js";

/** The name of the button; of pieces that are called alike, with their atoms as the picture counts them. */
function removal(one, all) {
  const called = (piece) => piece.name || piece.smiles;
  const isOne = all.filter((other) => called(other) === called(one)).length === 1;
  return `Remove ${called(one)}${isOne ? "" : `, atoms ${one.atoms.map((atom) => atom + 1).join(" ")}`}`;
}

/**
 * @param pieces   as the service sends them
 * @param atoms    how many the molecule has
 * @param color    the color of an effect
 * @param unit     of the effects
 * @param onLight  called with the atoms of the piece that is pointed at, or with none
 * @param onRemove called with the atoms of a piece that is to be taken away, and with a function
 *                 that takes the prediction without it, and the change, and shows both in its row
 */
export function piecesTable({ pieces, atoms, color, unit, onLight, onRemove }) {
  const largest = Math.max(...pieces.map((one) => Math.abs(one.effect))) || 1;
  const bar = ({ effect }) => {
    const width = Math.round((60 * Math.abs(effect)) / largest);
    return h("span", { class: "bar", style: `width:${width}px;background:${color(effect)}`, "aria-hidden": "true" });
  };
  const button = (one) => {
    const without = h("span", { class: "without" });
    const tell = (value, change) => without.replaceChildren(h("b", {}, value), ` (${change})`);
    const onclick = () => onRemove(one.atoms, tell);
    return [h("button", { type: "button", class: "quiet small", "aria-label": removal(one, pieces), onclick }, "Remove"), without];
  };
  const columns = [
    ["Piece", (one) => [h("code", {}, one.smiles), one.name ? ` ${one.name}` : ""], false],
    ["Effect", (one) => [signed(one.effect), " ", bar(one)], false],
    ["Without it", (one) => (one.atoms.length < atoms ? button(one) : ""), false],
  ];
  const made = table(columns, pieces, `Pieces of the molecule with their effects, in ${unit}`);
  const rows = [...made.tBodies[0].rows];
  // What the keyboard is on stays lit when the pointer goes away.
  const focused = () => pieces[rows.findIndex((row) => row.contains(document.activeElement))]?.atoms ?? [];
  rows.forEach((row, place) => {
    for (const event of ["pointerenter", "focusin"]) row.addEventListener(event, () => onLight(pieces[place].atoms));
    row.addEventListener("pointerleave", () => onLight(focused()));
    row.addEventListener("focusout", () => onLight([]));
  });
  return made;
}
