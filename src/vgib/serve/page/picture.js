// A molecule with its scores as a band of color and the kept atoms in an outline, as
// vgib.chem.draw does it, but drawn here: a new choice needs no new request.

import { s } from "/page/dom.js";

const OUTLINE = "#172a4d";
const PLAIN = "#1a1a1f";
const DIMMED = "#2e3038";

let pictures = 0;

/** The color of a score on a scale of evenly spaced colors. */
export function colorOf(score, scale) {
  const place = Math.min(Math.max(score, 0), 1) * (scale.length - 1);
  const low = Math.min(Math.floor(place), scale.length - 2);
  const parts = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  const [first, last] = [parts(scale[low]), parts(scale[low + 1])];
  const mixed = first.map((part, at) => Math.round(part + (last[at] - part) * (place - low)));
  return `rgb(${mixed.join(",")})`;
}

/**
 * @param sketch   lines and places, as the service sends them
 * @param fills    one color for each atom
 * @param told     what is said of each atom, such as "score 0.91"
 * @param kept     the kept atoms, a Set
 * @param label    what the picture is called
 * @param onToggle called with an atom that was clicked; without it the picture is only looked at
 */
export function molecule({ sketch, fills, told = () => "", kept, label, onToggle }) {
  const prefix = `p${pictures++}-`;
  const defs = s("defs");
  const inside = (atoms) => atoms.every((atom) => kept.has(atom));
  const everything = () => true;
  const svg = s(
    "svg",
    { viewBox: sketch.box.join(" "), role: onToggle ? "group" : "img", "aria-label": label },
    defs,
    band(sketch, sketch.band, (a, b) => gradient(sketch, fills, a, b, defs, prefix), everything),
    band(sketch, sketch.outline, () => OUTLINE, inside),
    band(sketch, sketch.band, (a, b) => gradient(sketch, fills, a, b, defs, prefix), inside),
    sketch.lines.map((line) => stroke(line, kept.size === 0 || inside(line.atoms))),
  );
  svg.style.maxWidth = `${Math.round(1.25 * sketch.box[2])}px`;
  if (onToggle) svg.append(...buttons(sketch, told, kept, onToggle, svg));
  return svg;
}

function band(sketch, radius, paint, isIn) {
  const shapes = [];
  sketch.places.forEach(([x, y], atom) => {
    if (isIn([atom])) shapes.push(s("circle", { cx: x, cy: y, r: radius, fill: paint(atom, atom) }));
  });
  for (const [a, b] of sketch.bonds) {
    if (!isIn([a, b])) continue;
    const [[x, y], [u, v]] = [sketch.places[a], sketch.places[b]];
    shapes.push(s("path", { d: `M${x} ${y}L${u} ${v}`, stroke: paint(a, b), "stroke-width": 2 * radius, fill: "none" }));
  }
  return shapes;
}

function gradient(sketch, fills, a, b, defs, prefix) {
  if (a === b || fills[a] === fills[b]) return fills[a];
  const id = `${prefix}${a}-${b}`;
  if (![...defs.children].some((made) => made.id === id)) {
    const [[x1, y1], [x2, y2]] = [sketch.places[a], sketch.places[b]];
    defs.append(
      s("linearGradient", { id, gradientUnits: "userSpaceOnUse", x1, y1, x2, y2 },
        s("stop", { offset: 0.2, "stop-color": fills[a] }),
        s("stop", { offset: 0.8, "stop-color": fills[b] })),
    );
  }
  return `url(#${id})`;
}

function stroke(line, isPlain) {
  const color = isPlain ? PLAIN : DIMMED;
  return line.is_filled
    ? s("path", { d: line.path, fill: color })
    : s("path", { d: line.path, fill: "none", stroke: color, "stroke-width": 1.8, "stroke-linecap": "round" });
}

/** One button for each atom; the arrow keys move between them, so that Tab passes by in one step. */
function buttons(sketch, told, kept, onToggle, svg) {
  const move = (event, atom) => {
    const [dx, dy] = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] }[event.key] ?? [0, 0];
    if (!dx && !dy) return false;
    const [x, y] = sketch.places[atom];
    let best = null;
    let least = Infinity;
    sketch.places.forEach(([u, v], other) => {
      const along = (u - x) * dx + (v - y) * dy;
      const aside = Math.abs((u - x) * dy) + Math.abs((v - y) * dx);
      if (other !== atom && along > 1 && along + 2 * aside < least) [best, least] = [other, along + 2 * aside];
    });
    if (best != null) focusAtom(svg, best);
    return true;
  };
  const current = [...kept][0] ?? 0;
  return sketch.places.map(([x, y], atom) => {
    const state = kept.has(atom) ? "kept" : "dropped";
    return s(
      "circle",
      {
        class: "hit", cx: x, cy: y, r: 1.55 * sketch.band, "data-atom": atom,
        role: "button", tabindex: atom === current ? 0 : -1, "aria-pressed": kept.has(atom),
        "aria-label": `Atom ${atom + 1}, ${sketch.symbols[atom]}, ${told(atom)}, ${state}`,
        onclick: () => onToggle(atom),
        onkeydown: (event) => {
          const isToggle = event.key === " " || event.key === "Enter";
          if (isToggle) onToggle(atom);
          if (isToggle || move(event, atom)) event.preventDefault();
        },
      },
      s("title", {}, `${sketch.symbols[atom]}${atom + 1}: ${told(atom)}, ${state}`),
    );
  });
}

/** Marks some atoms beside the outline, and no others. */
export function light(svg, atoms) {
  const lit = new Set(atoms);
  for (const button of svg.querySelectorAll(".hit")) button.classList.toggle("lit", lit.has(Number(button.dataset.atom)));
}

export function focusAtom(svg, atom) {
  for (const button of svg.querySelectorAll(".hit")) {
    const isIt = Number(button.dataset.atom) === atom;
    button.setAttribute("tabindex", isIt ? 0 : -1);
    if (isIt) button.focus();
  }
}
