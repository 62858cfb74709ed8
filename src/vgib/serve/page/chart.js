// Two small charts: the members of an ensemble on a line, and every size beside random parts.

import { s } from "/page/dom.js";
import { minus } from "/page/numbers.js";

function bounds(values, share = 0.12) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || Math.abs(high) || 1) * share;
  return [low - room, high + room];
}

function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

/** A dot for each member. */
export function members(values, mean, told) {
  const [low, high] = bounds([...values], 0.25);
  const x = (value) => 12 + (376 * (value - low)) / (high - low);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return s(
    "svg",
    { viewBox: "0 0 400 46", class: "chart", role: "img", "aria-label": `Members predict ${values.map(told).join(", ")}` },
    s("path", { class: "axis", d: "M12 22H388" }),
    s("path", { class: "whole", d: `M${x(mean)} 10V34` }),
    values.map((value) => s("circle", { class: "dot", cx: x(value), cy: 22, r: 5.5 })),
    s("text", { x: x(least), y: 44, "text-anchor": "middle" }, told(least)),
    s("text", { x: x(most), y: 44, "text-anchor": "middle" }, told(most)),
  );
}

/** A mark of an axis, as short as it can be said. */
const mark = (tick, isProbability) => (isProbability ? `${Number((100 * tick).toPrecision(12))}\u00a0%` : minus(String(tick)));

/** What is predicted from the best part of each size, and from random ones. */
export function sizes({ room, sizes, whole, tolerance, at, value, quantity, isProbability, onPick }) {
  const [width, height, left, right, top, bottom] = [Math.max(300, room || 720), 250, 50, 14, 12, 40];
  const means = sizes.map((size) => size.parts[0].value);
  const all = [...means, ...sizes.flatMap((size) => size.random), whole, value].filter(Number.isFinite);
  const [below, above] = bounds(all);
  const [low, high] = isProbability ? [Math.max(0, below), Math.min(1, above)] : [below, above];
  const [first, last] = [sizes[0].atoms, sizes.at(-1).atoms];
  const x = (atoms) => left + ((width - left - right) * (atoms - first)) / Math.max(1, last - first);
  const y = (number) => top + ((height - top - bottom) * (high - number)) / (high - low);
  const path = (points) => points.map(([u, v], step) => `${step ? "L" : "M"}${u.toFixed(1)} ${v.toFixed(1)}`).join("");
  const band = [
    ...sizes.map((size) => [x(size.atoms), y(size.random[2])]),
    ...sizes.map((size) => [x(size.atoms), y(size.random[0])]).reverse(),
  ];
  const pick = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * width;
    let best = 0;
    sizes.forEach((size, step) => {
      if (Math.abs(x(size.atoms) - place) < Math.abs(x(sizes[best].atoms) - place)) best = step;
    });
    onPick(best);
  };
  return s(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "chart sizes", role: "img", onclick: pick,
      "aria-label": `Predicted ${quantity} from the part alone, by size, beside random parts; the table below has the numbers` },
    ticks(low, high, 4).map((tick) => [
      s("path", { class: "grid", d: `M${left} ${y(tick)}H${width - right}` }),
      s("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, mark(tick, isProbability)),
    ]),
    ticks(first, last, width / 90).filter(Number.isInteger).map((tick) =>
      s("text", { x: x(tick), y: height - bottom + 18, "text-anchor": "middle" }, String(tick))),
    s("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, "atoms in the part"),
    s("path", { class: "alike", d: `M${left} ${y(Math.min(high, whole + tolerance))}H${width - right}V${y(Math.max(low, whole - tolerance))}H${left}Z` }),
    s("path", { class: "random", d: `${path(band)}Z` }),
    s("path", { class: "middle", d: path(sizes.map((size) => [x(size.atoms), y(size.random[1])])) }),
    s("path", { class: "whole", d: `M${left} ${y(whole)}H${width - right}` }),
    s("path", { class: "line", d: path(sizes.map((size, step) => [x(size.atoms), y(means[step])])) }),
    sizes.map((size, step) => s("circle", { class: "point", cx: x(size.atoms), cy: y(means[step]), r: 2.6 })),
    Number.isFinite(at) && s("path", { class: "cursor", d: `M${x(at)} ${top}V${height - bottom}` }),
    Number.isFinite(value) && s("circle", { class: "now", cx: x(at), cy: y(value), r: 6 }),
  );
}
