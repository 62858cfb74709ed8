// The view of one molecule: what was answered is kept, and every control only shows it differently.

import * as api from "/page/api.js";
import * as chart from "/page/chart.js";
import { setUpBoard } from "/page/board.js";
import { $, announce, h, plural, show, table } from "/page/dom.js";
import { save, saveCsv, saveJson, svgPng, svgText } from "/page/files.js";
import { minus, number, percent, signed, stability } from "/page/numbers.js";
import { colorOf, focusAtom, light, molecule } from "/page/picture.js";
import { piecesTable } from "/page/pieces.js";
import { setUpTable } from "/page/table.js";
import { setUpTheme } from "/page/theme.js";
import { besides, ofMembers, ownTold, partTitle, partTold, stripTold, why, wordingOf } from "/page/words.js";

const METRICS = { r_squared: "R²", roc_auc: "ROC AUC" }; // accuracy goes by its name
const QUICK = ["occlusion", "ig", "gradcam"]; // chosen at first
const ONE_OF_ONE = /^the given SMILES: none of the 1 molecules can be used; line 1 \(.*?\): /;
const EXAMPLE = "C1OC1COc1ccccc1"; // phenyl glycidyl ether, whose epoxide is the alert

const state = {
  models: [],
  methods: [],
  found: null, // the answer of /inspect
  step: 0, // which size
  rank: 0, // which part of that size
  isNothing: false, // no part was found, and none was asked for: nothing is outlined
  isSufficient: true, // whether parts that suffice were asked for
  own: null, // the atoms that the user keeps, a Set, instead of a recognized part
  ownAnswer: null, // the answer of /whatif
  compared: new Map(), // method -> answer of /explain, or an Error, or null while it is awaited
  asking: null, // aborts the request under way
};

const model = () => state.models.find((one) => one.name === $("model").value);
const size = () => state.found.sizes[state.step];
const part = () => size().parts[state.rank] ?? size().parts[0];
const kept = () => state.own ?? new Set(state.isNothing ? [] : part().atoms);
const as = () => wordingOf(state.found);
const told = (value) => as().value(value);
const largest = () => Math.max(...state.found.effects.map(Math.abs));
const effectColor = (effect) => colorOf(largest() ? 0.5 + effect / largest() / 2 : 0.5, state.found.signed_scale);
const scoreColor = (score) => colorOf(score, state.found.scale);

// ---- asking ----------------------------------------------------------------------------------

function complain(message) {
  $("problem").textContent = message;
  show($("problem"), Boolean(message));
}

/** Asks about a molecule; `view` is what a link wants to see of it. */
async function recognize(view = {}) {
  const smiles = $("smiles").value.trim();
  complain("");
  if (!smiles) {
    complain("Give a molecule first: paste its SMILES, or pick one of the examples.");
    $("smiles").focus();
    return;
  }
  state.asking?.abort();
  const asking = (state.asking = new AbortController());
  document.body.setAttribute("aria-busy", "true");
  announce("Recognizing");
  try {
    const asked = { molecule: smiles, model: $("model").value, ...chosenBy() };
    const isSufficient = $("rule").value === "sufficient";
    state.found = await api.post("/inspect", asked, asking.signal);
    state.isSufficient = isSufficient;
  } catch (error) {
    if (error.name === "AbortError") return;
    show($("result"), false);
    complain(error.message.replace(ONE_OF_ONE, "This SMILES cannot be used: "));
    announce("");
    return;
  } finally {
    if (state.asking === asking) document.body.removeAttribute("aria-busy");
  }
  state.compared.clear();
  state.own = state.ownAnswer = null;
  state.isNothing = view.size == null && hasNoPart();
  state.step = nearestStep(view.size ?? firstSize());
  state.rank = Math.min(view.rank ?? 0, size().parts.length - 1);
  if (view.atoms?.length) state.own = new Set(view.atoms.filter((atom) => atom < state.found.scores.length));
  show($("result"), true); // first, since the chart takes the width that there is
  render();
  const outlined = state.isNothing ? "no part was found" : `the part has ${plural(kept().size, "atom")}`;
  announce(`Predicted ${as().full(state.found.value)}; ${outlined}`);
  if (state.own) await askWhatIf();
  if (view.methods?.length) {
    $("compare-card").open = true;
    for (const box of $("boxes").querySelectorAll("input")) box.checked = view.methods.includes(box.value);
    await compare();
  }
}

const hasNoPart = () => !state.found.subgraphs.length && Boolean(state.found.why_none);

/** The size of the recognized part; where there is none, the slider begins at half of the molecule. */
function firstSize() {
  return state.found.subgraphs[0]?.atoms.length ?? state.found.scores.length / 2;
}

function nearestStep(atoms) {
  const far = state.found.sizes.map((one) => Math.abs(one.atoms - atoms));
  return far.indexOf(Math.min(...far));
}

/** Asks what is predicted from the atoms that the user keeps; `tell` is called with what comes of it. */
async function askWhatIf(tell = () => {}) {
  const { own, found } = state;
  try {
    const asked = { molecule: found.smiles, model: found.model, atoms: [...own].sort((a, b) => a - b) };
    const answer = await api.post("/whatif", asked);
    if (state.found === found) tell(told(answer.value), as().change(answer.value - found.value));
    if (state.own !== own) return; // changed meanwhile
    state.ownAnswer = answer;
    complain("");
    renderPart();
    renderChart();
    announce(`${plural(own.size, "atom")} kept: ${as().full(answer.value)}`);
  } catch (error) {
    if (state.own === own) complain(error.message);
  }
}

function toggle(atom) {
  const own = new Set(kept());
  if (own.has(atom)) own.delete(atom);
  else own.add(atom);
  if (!own.size) {
    announce("At least one atom must be kept");
    return;
  }
  state.own = own;
  state.ownAnswer = null;
  renderPicture();
  focusAtom($("picture").firstChild, atom);
  renderPart();
  remember();
  askWhatIf();
}

async function compare() {
  const chosen = [...$("boxes").querySelectorAll("input:checked")].map((box) => box.value);
  for (const method of state.compared.keys()) if (!chosen.includes(method)) state.compared.delete(method);
  const found = state.found;
  const missing = chosen.filter((method) => !(state.compared.get(method)?.scores));
  for (const method of missing) state.compared.set(method, null);
  renderCompared();
  remember();
  for (const method of missing) {
    let answer;
    try {
      const asked = { molecule: found.smiles, model: found.model, ...chosenBy(), method, n: 1 };
      answer = await api.post("/explain", asked);
    } catch (error) {
      answer = error;
    }
    if (state.found !== found) return;
    if (state.compared.has(method)) state.compared.set(method, answer);
    renderCompared();
  }
}

// ---- showing ---------------------------------------------------------------------------------

function render() {
  renderPrediction();
  renderPicture();
  renderPart();
  renderChart();
  renderCompared();
  remember();
}

function renderPrediction() {
  const { found } = state;
  const many = found.members.length > 1;
  $("value").textContent = minus(found.statement);
  $("spread").textContent = many ? `±\u00a0${as().spread(found.spread)}` : "";
  $("members-told").textContent = ofMembers(found);
  const facts = besides(found, model());
  $("beside").replaceChildren(...facts.map(([title, text]) => h("li", { class: title === "Careful" ? "careful" : null }, h("b", {}, `${title}: `), text)));
  $("members").replaceChildren(many ? chart.members(found.members, found.value, told) : "");
  $("note").textContent = found.note ?? "";
  $("effect-unit").textContent = found.effect_unit || "the unit of the prediction";
  renderPieces();
}

/** Rings, groups and chains: the first what-if is to take one away. */
function renderPieces() {
  const { found } = state;
  const color = (effect) => effectColor(Math.sign(effect) * largest());
  const own = { pieces: found.pieces, atoms: found.scores.length, unit: found.effect_unit };
  $("pieces").replaceChildren(piecesTable({ ...own, color, onLight: lightPiece, onRemove: remove }));
  lightPiece([]);
}

/** Shows some atoms in the picture, and in a small one beside the pieces where that is out of sight. */
function lightPiece(atoms) {
  const { found } = state;
  if ($("picture").firstChild) light($("picture").firstChild, atoms);
  const label = atoms.length ? `${plural(atoms.length, "atom")} of the piece outlined` : "No piece outlined";
  $("piece-picture").replaceChildren(molecule({ sketch: found.sketch, fills: found.effects.map(effectColor), kept: new Set(atoms), label }));
}

function remove(atoms, tell) {
  const gone = new Set(atoms);
  state.own = new Set([...state.found.scores.keys()].filter((atom) => !gone.has(atom)));
  state.ownAnswer = null;
  renderPicture();
  renderPart();
  remember();
  askWhatIf(tell);
}

function renderPicture() {
  const { found } = state;
  const outlined = state.isNothing && !state.own ? "no part is outlined" : `${kept().size} of ${found.scores.length} atoms kept`;
  const label = `${found.smiles}: ${outlined}. Each atom is a button.`;
  const byEffect = $("color").value === "effect";
  const fills = byEffect ? found.effects.map(effectColor) : found.scores.map(scoreColor);
  const about = (atom) => `score ${found.scores[atom].toFixed(2)}, effect ${signed(found.effects[atom])}`;
  $("picture").replaceChildren(molecule({ sketch: found.sketch, fills, told: about, kept: kept(), label, onToggle: toggle }));
  const scale = byEffect ? found.signed_scale : found.scale;
  $("scale").style.background = `linear-gradient(90deg, ${scale.join(", ")})`;
  $("scale-low").textContent = byEffect ? `lowers ${signed(-largest())}` : "score 0";
  $("scale-high").textContent = byEffect ? `${signed(largest())} raises, ${found.effect_unit || "per atom"}` : "1";
}

function renderPart() {
  const { found, own, ownAnswer } = state;
  const isNothing = state.isNothing && !own;
  const shown = own ? ownAnswer : part();
  const isRecognized = !own && !isNothing && isShown();
  $("part-title").textContent = own ? "Your part alone"
    : isNothing ? "No part found"
    : partTitle(found, size(), part(), { isRecognized, isSufficient: state.isSufficient });
  const needsWhy = !own && found.why_none && (isRecognized || hasNoPart());
  show($("part-why"), Boolean(needsWhy));
  $("part-why").textContent = needsWhy ? why(found, isNothing) : "";
  show($("reset"), Boolean(own) || (hasNoPart() && !isNothing));
  $("reset").textContent = hasNoPart() ? "Outline nothing" : "Back to the recognized part";
  show($("part-number"), !isNothing);
  $("part-value").textContent = shown ? as().full(shown.value) : "…";
  const many = found.members.length > 1;
  $("part-spread").textContent = shown && many ? `±\u00a0${as().spread(shown.spread)}` : "";
  $("part-smiles").textContent = isNothing ? "" : shown?.smiles ?? "";
  $("part-told").textContent = isNothing
    ? "The slider shows what the model predicts from parts of each size alone; none of them is an answer."
    : own ? ownAnswer && ownTold(found, ownAnswer) : partTold(found, size());
  $("size").max = found.sizes.length - 1;
  $("size").value = state.step;
  const share = `${size().atoms} of ${found.scores.length} atoms (${percent(size().atoms / found.scores.length)})`;
  $("size").setAttribute("aria-valuetext", share);
  $("size-told").textContent = isNothing ? "" : own ? `${own.size} of ${found.scores.length} atoms` : share;
  $("ranks").replaceChildren(...(size().parts.length > 1 && !isNothing ? size().parts.map(rankButton) : []));
}

function rankButton(one, rank) {
  const isIt = !state.own && rank === state.rank;
  return h(
    "button",
    { type: "button", class: "quiet small", "aria-pressed": isIt, title: one.smiles, onclick: () => pick(state.step, rank) },
    ["Best", "Second", "Third", "Fourth", "Fifth"][rank],
  );
}

/** Whether the part that is looked at is the one that was recognized. */
function isShown() {
  const [first] = state.found.subgraphs;
  return first && first.atoms.join() === part().atoms.join();
}

function renderChart() {
  const { found, own, ownAnswer } = state;
  const at = own ? own.size : state.isNothing ? NaN : size().atoms;
  const value = own ? ownAnswer?.value ?? NaN : state.isNothing ? NaN : part().value;
  const drawn = { sizes: found.sizes, whole: found.value, tolerance: found.tolerance, at, value };
  const { isProbability } = as();
  $("chart").replaceChildren(
    chart.sizes({ room: $("chart").clientWidth, ...drawn, quantity: found.quantity, isProbability, onPick: (step) => pick(step, 0) }),
  );
  show($("strip-told"), Boolean(stripTold(found)));
  $("strip-told").textContent = stripTold(found);
  const columns = [
    ["Atoms", (one) => String(one.atoms), true],
    ["Part", (one) => h("code", {}, one.parts[0].smiles), false],
    ["Score", (one) => number(one.parts[0].score), true],
    ["From the part", (one) => told(one.parts[0].value), true],
    ["Random, 5 %", (one) => told(one.random[0]), true],
    ["50 %", (one) => told(one.random[1]), true],
    ["95 %", (one) => told(one.random[2]), true],
    ["Stability", (one) => (one.stability == null ? "–" : stability(one.stability)), true],
  ];
  $("sizes-table").replaceChildren(table(columns, found.sizes, "The best part of each size, and random parts of that size"));
}

function renderCompared() {
  const { found } = state;
  if (!state.compared.size) {
    $("compared").replaceChildren();
    return;
  }
  const own = { name: `${found.model}, its own scores`, scores: found.scores, sizes: found.sizes };
  const others = [...state.compared].map(([name, answer]) => ({ name, ...(answer instanceof Error ? { problem: answer.message } : answer) }));
  $("compared").replaceChildren(...[own, ...others].map(comparedCard));
}

function comparedCard({ name, scores, sizes, problem }) {
  if (!scores) {
    return h("figure", {}, h("figcaption", {}, h("b", {}, name), h("br"), problem ?? "computing …"));
  }
  const wanted = kept().size || size().atoms;
  const best = sizes.reduce((one, other) => (Math.abs(other.atoms - wanted) < Math.abs(one.atoms - wanted) ? other : one));
  const chosen = new Set(best.parts[0].atoms);
  const label = `Scores by ${name}; ${chosen.size} atoms outlined`;
  const view = { sketch: state.found.sketch, fills: scores.map(scoreColor), kept: chosen, label };
  const about = state.methods.find((one) => one.name === name)?.about ?? "";
  return h(
    "figure",
    {},
    h("div", { class: "paper" }, molecule(view)),
    h("figcaption", {}, h("b", {}, name), h("br"), `${told(best.parts[0].value)} from its ${plural(best.atoms, "atom")}, ${told(state.found.value)} from the whole`,
      h("br"), about && h("span", { class: "soft" }, about), h("br"), h("code", {}, best.parts[0].smiles)),
  );
}

function pick(step, rank) {
  state.step = step;
  state.rank = rank;
  state.isNothing = false;
  showPart();
}

/** What was recognized, or nothing where no part was found. */
function reset() {
  state.isNothing = hasNoPart();
  showPart();
}

function showPart() {
  state.own = state.ownAnswer = null;
  complain("");
  renderPicture();
  renderPart();
  renderChart();
  renderCompared();
  remember();
}

// ---- links -----------------------------------------------------------------------------------

let remembering;

/** Soon, and not at each step of a slider: browsers allow few changes of the address at once. */
function remember() {
  clearTimeout(remembering);
  remembering = setTimeout(rememberNow, 150);
}

function chosenBy() {
  const rule = $("rule").value;
  if (rule === "sufficient") return {};
  return rule === "predicted" ? { by: "prediction" } : { rule };
}

function rememberNow() {
  clearTimeout(remembering);
  if (isTableWanted()) return; // the address is on its way elsewhere
  const { found } = state;
  const view = new URLSearchParams({ view: "molecule", model: found.model, smiles: found.smiles, rule: $("rule").value });
  if (state.own) view.set("atoms", [...state.own].sort((a, b) => a - b).join("."));
  else if (!state.isNothing) {
    view.set("size", size().atoms);
    if (state.rank) view.set("rank", state.rank);
  }
  if (state.compared.size) view.set("methods", [...state.compared.keys()].join("."));
  history.replaceState(null, "", `#${view}`);
}

function isTableWanted() {
  return new URLSearchParams(location.hash.slice(1)).get("view") === "table";
}

const list = (text) => (text ? text.split(".").filter(Boolean) : []);

async function restore() {
  clearTimeout(remembering);
  const view = new URLSearchParams(location.hash.slice(1));
  const isTable = isTableWanted();
  show($("molecule-view"), !isTable);
  show($("table-view"), isTable);
  $("to-molecule").toggleAttribute("aria-current", !isTable);
  $("to-table").toggleAttribute("aria-current", isTable);
  if (isTable || (state.found && !view.get("smiles"))) return;
  if (state.models.some((one) => one.name === view.get("model"))) $("model").value = view.get("model");
  const rule = view.get("rule");
  if ([...$("rule").options].some((one) => one.value === rule)) $("rule").value = rule;
  describeModel();
  $("smiles").value = view.get("smiles") ?? EXAMPLE;
  const whole = (name) => (/^\d+$/.test(view.get(name) ?? "") ? Number(view.get(name)) : undefined);
  await recognize({
    size: whole("size"),
    rank: whole("rank"),
    atoms: list(view.get("atoms")).map(Number).filter(Number.isInteger),
    methods: list(view.get("methods")),
  });
}

// ---- set-up ----------------------------------------------------------------------------------

function describeModel() {
  const one = model();
  if (!one) return;
  const metric = one.metrics[one.headline];
  const quality = metric && Number.isFinite(metric.value) ? ` On held-out molecules, ${METRICS[one.headline] ?? one.headline}: ${number(metric.value)}.` : "";
  const members = one.members > 1 ? ` ${one.members} members.` : "";
  const summary = (one.summary || "A model of one's own").replace(/[.\s]*$/, ".");
  $("about-model").textContent = `${summary}${quality}${one.caution ? ` ${one.caution}` : ""}${members}`;
  const sources = one.data.sources?.join(", ");
  $("license").textContent = `${sources ? `Trained on ${sources}. ` : ""}License: ${one.license.replace(/\.$/, "")}.`;
}

function setUpMethods() {
  const checks = (learns) =>
    state.methods.filter((one) => one.learns === learns).map(({ name, about }) =>
      h("label", { title: about }, h("input", { type: "checkbox", value: name, checked: QUICK.includes(name) }), ` ${name}`));
  $("methods").replaceChildren(...checks(false));
  $("learners").replaceChildren(...checks(true));
}

function setUpSaving() {
  const picture = () => $("picture").firstChild;
  const columns = [
    ["atom", (atom) => atom],
    ["element", (atom) => state.found.sketch.symbols[atom]],
    ["score", (atom) => state.found.scores[atom]],
    ["effect", (atom) => state.found.effects[atom]],
    ["kept", (atom) => (kept().has(atom) ? 1 : 0)],
  ];
  const parts = [
    ["size", (row) => row.size.atoms],
    ["rank", (row) => row.rank + 1],
    ["subgraph", (row) => row.part.smiles],
    ["atoms", (row) => row.part.atoms],
    ["score", (row) => row.part.score],
    ["keep_ratio", (row) => row.part.keep_ratio],
    ["value", (row) => row.part.value],
    ["spread", (row) => row.part.spread],
    ["random_low", (row) => row.size.random[0]],
    ["random_middle", (row) => row.size.random[1]],
    ["random_high", (row) => row.size.random[2]],
    ["stability", (row) => row.size.stability],
  ];
  const everything = () => ({
    ...state.found,
    whatif: state.ownAnswer,
    methods: [...state.compared.values()].filter((answer) => answer?.scores),
    link: location.href,
  });
  $("save-svg").addEventListener("click", () => save("molecule.svg", svgText(picture()), "image/svg+xml"));
  $("save-png").addEventListener("click", async () => save("molecule.png", await svgPng(picture())));
  $("save-csv").addEventListener("click", () => saveCsv("atoms.csv", columns, [...state.found.scores.keys()]));
  $("save-sizes").addEventListener("click", () =>
    saveCsv("parts.csv", parts, state.found.sizes.flatMap((one) => one.parts.map((each, rank) => ({ size: one, part: each, rank })))));
  $("save-json").addEventListener("click", () => {
    rememberNow();
    saveJson("recognition.json", everything());
  });
  $("copy-link").addEventListener("click", async () => {
    rememberNow();
    try {
      await navigator.clipboard.writeText(location.href);
      $("copy-link").textContent = "Copied";
    } catch {
      $("copy-link").textContent = "The address of this page is the link";
    }
    announce($("copy-link").textContent);
    setTimeout(() => ($("copy-link").textContent = "Copy a link to this view"), 2500);
  });
}

function setUpControls() {
  $("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    recognize();
  });
  for (const button of document.querySelectorAll("[data-smiles]")) {
    button.addEventListener("click", () => {
      $("smiles").value = button.dataset.smiles;
      recognize();
    });
  }
  $("model").addEventListener("change", () => {
    describeModel();
    if (state.found && !$("molecule-view").hidden) recognize();
  });
  $("rule").addEventListener("change", () => state.found && recognize());
  $("color").addEventListener("change", () => state.found && renderPicture());
  $("size").addEventListener("input", () => pick(Number($("size").value), 0));
  $("reset").addEventListener("click", () => {
    reset();
    $("size").focus();
  });
  $("compare").addEventListener("click", compare);
  addEventListener("hashchange", restore);
  let width = innerWidth;
  addEventListener("resize", () => {
    if (state.found && innerWidth !== width) renderChart();
    width = innerWidth;
  });
}

async function start() {
  setUpTheme();
  setUpControls();
  setUpSaving();
  try {
    const [health, { models }, { methods }] = await Promise.all([api.get("/health"), api.get("/models"), api.get("/methods")]);
    Object.assign(state, { models, methods });
    $("model").replaceChildren(...models.map((one) => h("option", { value: one.name }, one.name)));
    $("model").value = health.default;
    $("version").textContent = `vgib ${health.version}`;
    describeModel();
    setUpMethods();
    setUpBoard(health.editor, (smiles) => {
      $("smiles").value = smiles;
      recognize();
    });
    setUpTable(health.limits, model);
  } catch (error) {
    complain(error.message);
    return;
  }
  await restore();
}

start();
