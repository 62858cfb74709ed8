// The gallery of recognized molecules: search, sort, pages, and drawings made when they are shown.
"use strict";
(() => {
  const page = JSON.parse(document.getElementById("recognized").textContent);
  const $ = (id) => document.getElementById(id);
  const SVG = "http://www.w3.org/2000/svg";
  const AT_ONCE = 24;
  const FEW = 8;

  function make(name, attributes = {}, ...children) {
    const inSvg = ["svg", "g", "line", "circle", "text", "tspan", "title", "polygon", "rect"].includes(name);
    const node = inSvg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value);
    }
    node.append(...children);
    return node;
  }

  const fixed = (value, digits = 3) => {
    if (value === null || value === undefined) return "–";
    if (Array.isArray(value)) return value.map((one) => fixed(one, digits)).join(", ");
    if (Number.isInteger(value)) return String(value);
    const size = Math.abs(value);
    return size && (size < 0.001 || size >= 1e5) ? value.toExponential(2) : value.toFixed(digits);
  };
  const percent = (value) => `${Math.round(100 * value)} %`;

  // ---- drawing ---------------------------------------------------------------------------------

  function color(score, ramp) {
    const place = Math.min(Math.max(score, 0), 1) * (ramp.length - 1);
    const low = Math.min(Math.floor(place), ramp.length - 2);
    const mix = ramp[low].map((part, i) => part + (ramp[low + 1][i] - part) * (place - low));
    return `rgb(${mix.map((part) => Math.round(255 * part)).join(",")})`;
  }

  /** The color of each atom: by its signed effect on the scale of the page, or by its score. */
  function shades(one) {
    if (!one.effects) return one.scores.map((score) => color(score, page.ramp));
    return one.effects.map((effect) => color(0.5 + (0.5 * effect) / page.scale, page.signed));
  }

  // Symbol, then hydrogens and charge, small: NH3+ is N, H, a low 3 and a high +.
  function label(text, x, y, toLeft) {
    const [, isotope, symbol, hydrogens, count, charge] =
      text.match(/^(\d*)([A-Z][a-z]?|\*)(H?)(\d*?)(\d*[+-])?$/) || [text, "", text, "", "", ""];
    const small = (content, shift) => make("tspan", { "font-size": 22, dy: shift }, content);
    const tail = [];
    if (hydrogens) tail.push(make("tspan", {}, hydrogens));
    if (count) tail.push(small(count, 8), make("tspan", { dy: -8 }, "\u200b"));
    if (charge) tail.push(small(charge.replace("-", "\u2212"), -14), make("tspan", { dy: 14 }, "\u200b"));
    const head = [isotope ? small(isotope, -12) : "", isotope ? make("tspan", { dy: 12 }, symbol) : symbol];
    const wide = 12 * symbol.length + 1;
    const anchor = toLeft && tail.length ? "end" : "start";
    const parts = anchor === "end" ? [...tail, ...head] : [...head, ...tail];
    return make("text", { x: anchor === "end" ? x + wide : x - wide, y: y + 12, "text-anchor": anchor }, ...parts);
  }

  function bondLines(x, y, i, j, kind, labeled, around) {
    let [ax, ay, bx, by] = [x[i], y[i], x[j], y[j]];
    const length = Math.hypot(bx - ax, by - ay) || 1;
    const [ux, uy] = [(bx - ax) / length, (by - ay) / length];
    if (labeled[i]) { ax += 20 * ux; ay += 20 * uy; }
    if (labeled[j]) { bx -= 20 * ux; by -= 20 * uy; }
    const line = (shift, inset) => make("line", {
      x1: ax - uy * shift + ux * inset, y1: ay + ux * shift + uy * inset,
      x2: bx - uy * shift - ux * inset, y2: by + ux * shift - uy * inset,
    });
    if (kind === 4) {
      return [make("polygon", { points: `${ax},${ay} ${bx - uy * 9},${by + ux * 9} ${bx + uy * 9},${by - ux * 9}` })];
    }
    if (kind === 5) {
      return Array.from({ length: 6 }, (_, step) => {
        const at = (step + 1) / 6, wide = 9 * at;
        const [px, py] = [ax + (bx - ax) * at, ay + (by - ay) * at];
        return make("line", { x1: px - uy * wide, y1: py + ux * wide, x2: px + uy * wide, y2: py - ux * wide });
      });
    }
    if (kind === 1) return [line(0, 0)];
    if (kind === 3) return [line(0, 0), line(11, 0), line(-11, 0)];
    // A double bond leans to the side where its neighbors are; without a side it is symmetrical.
    let side = 0;
    for (const k of [...around[i], ...around[j]]) {
      if (k !== i && k !== j) side += Math.sign(Math.round(-uy * (x[k] - x[i]) + ux * (y[k] - y[i])));
    }
    if (!side && (around[i].length === 1 || around[j].length === 1)) return [line(6, 0), line(-6, 0)];
    return [line(0, 0), line(12 * (Math.sign(side) || 1), 12)];
  }

  function draw(drawing, colors, chosen, title) {
    const count = drawing.p.length / 2;
    const x = Array.from({ length: count }, (_, i) => drawing.p[2 * i]);
    const y = Array.from({ length: count }, (_, i) => drawing.p[2 * i + 1]);
    const around = x.map(() => []);
    for (let k = 0; k < drawing.b.length; k += 3) {
      around[drawing.b[k]].push(drawing.b[k + 1]);
      around[drawing.b[k + 1]].push(drawing.b[k]);
    }
    const inside = new Set(chosen || []);
    const [left, top] = [Math.min(...x) - 75, Math.min(...y) - 75];
    const [width, height] = [Math.max(...x) + 75 - left, Math.max(...y) + 75 - top];
    const wide = Math.max(width, 460), high = Math.max(height, 340);
    const box = [left - (wide - width) / 2, top - (high - height) / 2, wide, high];
    const svg = make("svg", { viewBox: box.map(Math.round).join(" "), role: "img", "aria-label": title });
    const under = make("g", { "stroke-linecap": "round" });
    const pairs = [];
    for (let k = 0; k < drawing.b.length; k += 3) pairs.push([drawing.b[k], drawing.b[k + 1], drawing.b[k + 2]]);
    if (colors) {
      for (const [radius, part] of [[31, null], [38, "edge"], [31, "chosen"]]) {
        const fill = (i) => (part === "edge" ? page.outline : colors[i]);
        for (const [i, j] of pairs) {
          if (part && !(inside.has(i) && inside.has(j))) continue;
          const [mx, my] = [(x[i] + x[j]) / 2, (y[i] + y[j]) / 2];
          under.append(make("line", { x1: x[i], y1: y[i], x2: mx, y2: my, stroke: fill(i), "stroke-width": 2 * radius }));
          under.append(make("line", { x1: mx, y1: my, x2: x[j], y2: y[j], stroke: fill(j), "stroke-width": 2 * radius }));
        }
        for (let i = 0; i < count; i++) {
          if (!part || inside.has(i)) under.append(make("circle", { cx: x[i], cy: y[i], r: radius, fill: fill(i) }));
        }
      }
    }
    svg.append(under);
    const labeled = x.map((_, i) => i in drawing.l);
    const groups = { in: make("g", { class: "in" }), out: make("g", { class: "out" }) };
    const whole = !inside.size;
    for (const [i, j, kind] of pairs) {
      const place = whole || (inside.has(i) && inside.has(j)) ? groups.in : groups.out;
      place.append(...bondLines(x, y, i, j, kind, labeled, around));
    }
    for (const [key, text] of Object.entries(drawing.l)) {
      const i = Number(key);
      const lean = around[i].reduce((sum, k) => sum + (x[k] - x[i]), 0);
      (whole || inside.has(i) ? groups.in : groups.out).append(label(text, x[i], y[i], lean > 40));
    }
    svg.append(groups.out, groups.in);
    return svg;
  }

  // A drawing is made when it comes near the window: thousands of cards cost nothing until then.
  const pending = new Map();
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting || !pending.has(entry.target)) continue;
      pending.get(entry.target)();
      pending.delete(entry.target);
      watcher.unobserve(entry.target);
    }
  }, { rootMargin: "400px" });
  const later = (node, paint) => { pending.set(node, paint); watcher.observe(node); return node; };

  // ---- the gallery -----------------------------------------------------------------------------

  const state = { text: "", fragment: null, order: "line", start: 0 };
  const orders = {
    line: (a, b) => a.line - b.line,
    high: (a, b) => number(b) - number(a),
    low: (a, b) => number(a) - number(b),
    stable: (a, b) => (b.stability ?? -1) - (a.stability ?? -1),
    unstable: (a, b) => (a.stability ?? 2) - (b.stability ?? 2),
    spread: (a, b) => (b.spread ?? -1) - (a.spread ?? -1),
    size: (a, b) => b.scores.length - a.scores.length,
    name: (a, b) => title(a).localeCompare(title(b), undefined, { numeric: true }),
  };
  // Of classes never their numbers: of two the probability of the second, of more of the likeliest.
  const number = (one) => one.second_class_probability ?? one.probability ?? [one.prediction].flat()[0];
  const title = (one) => one.id || `line ${one.line}`;
  for (const one of page.molecules) {
    one.text = [one.id || "", one.smiles, `line ${one.line}`, ...one.parts.map((part) => part.smiles)].join("\n").toLowerCase();
  }

  const has = (one, row) => (row.matches ? row.matches.includes(one.line) : one.parts.some((part) => part.smiles === row.fragment));
  const named = (row) => row.called || row.fragment;

  function matching() {
    const wanted = state.text.trim().toLowerCase();
    const found = page.molecules.filter((one) =>
      (!wanted || one.text.includes(wanted)) &&
      (!state.fragment || has(one, state.fragment)));
    return found.sort((a, b) => orders[state.order](a, b) || a.line - b.line);
  }

  function caption(one, part) {
    const lines = [];
    const told = one.probability == null ? "" : ` (probability ${fixed(one.probability, 2)})`;
    const spread = one.spread == null ? "" : ` ± ${one.probability == null ? fixed(one.spread) : percent(one.spread)}`;
    lines.push(one.statement ? `${one.statement}${spread}` : `${page.property} ${fixed(one.prediction)}${spread}${told}`);
    if (part && one.steady) lines.push(`stability ${one.steady}`);
    if (part) lines.push(`${percent(part.keep)} kept, mean score ${part.score == null ? "–" : part.score.toFixed(2)}`);
    if (one.why_none) lines.push(`${part ? "why this part" : "why none"}: ${one.why_none}`);
    if (one.note) lines.push(one.note);
    for (const warning of one.warnings || []) lines.push(make("span", {}, make("strong", {}, "careful: "), `this molecule ${warning}`));
    return lines;
  }

  /** What else is known of a molecule and its part; folded, under the titles of what is in it. */
  function more(one, part, open) {
    const facts = [...(part?.facts ? [["this part", part.facts]] : []), ...(one.facts || [])];
    if (!facts.length) return "";
    const rows = facts.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]);
    const titles = facts.map(([name]) => name).join(", ");
    return make("details", { open: open ? "" : null }, make("summary", {}, titles), make("dl", {}, ...rows));
  }

  function card(one) {
    const picture = make("div", { class: "picture" });
    const told = make("figcaption");
    const show = (rank) => {
      const part = one.parts[rank];
      const spoken = `${title(one)}, ${one.smiles}` + (part ? `; recognized: ${part.smiles}` : "");
      picture.replaceChildren(draw(one.drawing, shades(one), part && part.atoms, spoken));
      const open = told.querySelector("details")?.open;
      const lines = caption(one, part).flatMap((line) => [make("br"), line]);
      told.replaceChildren(make("b", {}, title(one)), make("span", { class: "soft" }, one.id ? ` line ${one.line}` : ""), ...lines);
      if (part) told.append(make("br"), make("code", {}, part.smiles));
      told.append(more(one, part, open));
      if (one.parts.length > 1) {
        const options = one.parts.map((_, k) => make("option", { value: k, selected: k === rank ? "" : null }, `part ${k + 1} of ${one.parts.length}`));
        const choose = make("select", { "aria-label": `recognized part of ${title(one)}`, onchange: (event) => show(Number(event.target.value)) }, ...options);
        told.append(choose);
        return choose;
      }
      return null;
    };
    const figure = make("figure", {}, picture, told);
    told.append(make("b", {}, title(one)));
    return later(figure, () => show(0));
  }

  function render(keepFocus = false) {
    const found = matching();
    state.start = Math.min(state.start, Math.max(0, Math.floor((found.length - 1) / AT_ONCE) * AT_ONCE));
    const shown = found.slice(state.start, state.start + AT_ONCE);
    $("cards").replaceChildren(...shown.map(card));
    $("count").textContent = found.length
      ? `${state.start + 1} to ${state.start + shown.length} of ${found.length.toLocaleString("en")}`
      : "no molecule matches";
    $("before").disabled = state.start === 0;
    $("after").disabled = state.start + AT_ONCE >= found.length;
    $("chip").hidden = !state.fragment;
    $("chip").textContent = state.fragment ? `with ${named(state.fragment)} ✕` : "";
    if (!keepFocus) history.replaceState(null, "", location.pathname + location.search);
  }

  const turn = (steps) => { state.start = Math.max(0, state.start + steps * AT_ONCE); render(); $("gallery").scrollIntoView({ block: "start" }); };
  let timer = 0;
  $("search").addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => { state.text = event.target.value; state.start = 0; render(true); }, 120);
  });
  $("order").addEventListener("change", (event) => { state.order = event.target.value; state.start = 0; render(true); });
  $("before").addEventListener("click", () => turn(-1));
  $("after").addEventListener("click", () => turn(1));
  $("chip").addEventListener("click", () => { state.fragment = null; state.start = 0; render(true); $("search").focus(); });

  // ---- the ledger ------------------------------------------------------------------------------

  const body = $("ledger-rows");
  const columns = ["fragment", "count", "mean_with", "mean_without", "difference", "mean_effect", "pair_difference"];
  let sorting = null; // as they come: what matters first
  let all = false;
  // The scale suits most intervals; the few that are wider end at the edge.
  const ends = page.ledger.flatMap((row) => [row.low, row.high, row.difference].map((v) => Math.abs(v ?? 0))).sort((a, b) => a - b);
  const widest = ends[Math.floor(0.8 * ends.length)] || 1e-12;

  const signed = (value) => `${value > 0 ? "+" : ""}${fixed(value)}`;

  function interval(row) {
    if (row.difference == null) return "–";
    const at = (value) => 60 + 58 * Math.min(1, Math.max(-1, value / widest));
    const svg = make("svg", { viewBox: "0 0 120 16", class: "interval", "aria-hidden": "true" },
      make("line", { x1: 60, y1: 1, x2: 60, y2: 15, class: "zero" }));
    if (row.low != null) svg.append(make("line", { x1: at(row.low), y1: 8, x2: at(row.high), y2: 8, class: "range" }));
    svg.append(make("circle", { cx: at(row.difference), cy: 8, r: 4 }));
    const told = row.low == null ? "" : ` [${fixed(row.low)}, ${fixed(row.high)}]`;
    return [svg, make("span", {}, `${row.difference > 0 ? "+" : ""}${fixed(row.difference)}${told}`)];
  }

  function ledgerRow(row) {
    const picture = make("div", { class: "small" });
    later(picture, () => picture.append(draw(row.drawing, null, null, row.fragment)));
    const examples = make("button", {
      type: "button", title: "show these molecules in the gallery",
      onclick: () => { state.fragment = row; state.start = 0; render(true); $("gallery").scrollIntoView(); $("chip").focus(); },
    }, row.names.slice(0, 3).join(", ") + (row.count > 3 ? ", …" : ""));
    return make("tr", {},
      make("td", {}, picture, row.called ? make("b", {}, `${row.called} `) : "", make("code", {}, row.fragment)),
      make("td", {}, `${row.count.toLocaleString("en")} (${percent(row.share)})`),
      make("td", {}, fixed(row.mean_with)), make("td", {}, fixed(row.mean_without)),
      make("td", {}, ...[interval(row)].flat()),
      make("td", {}, row.mean_effect == null ? "–" : signed(row.mean_effect)),
      make("td", {}, row.pairs ? `${signed(row.pair_difference)} in ${row.pairs}` : "–"), make("td", {}, examples));
  }

  function renderLedger() {
    const rows = !sorting ? page.ledger : [...page.ledger].sort((a, b) => {
      const [one, two] = [a[sorting.key], b[sorting.key]];
      if (one == null || two == null) return (one == null) - (two == null);
      return sorting.sign * (typeof one === "string" ? one.localeCompare(two) : one - two);
    });
    body.replaceChildren(...rows.slice(0, all ? rows.length : FEW).map(ledgerRow));
    $("all").hidden = all || rows.length <= FEW;
    for (const key of columns) {
      const heading = $(`by-${key}`);
      heading.setAttribute("aria-sort", sorting?.key !== key ? "none" : sorting.sign > 0 ? "ascending" : "descending");
    }
  }
  if (body) {
    for (const key of columns) {
      $(`by-${key}`).querySelector("button").addEventListener("click", () => {
        sorting = { key, sign: sorting?.key === key ? -sorting.sign : key === "fragment" ? 1 : -1 };
        renderLedger();
      });
    }
    $("all").addEventListener("click", () => { all = true; renderLedger(); });
    $("jump").addEventListener("click", () => $("ledger").scrollIntoView());
    renderLedger();
  }
  render(true);
})();
