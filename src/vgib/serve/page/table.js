// A file of molecules: its rows as a gallery, what recurs in them, and what was refused.

import * as api from "/page/api.js";
import { $, announce, h, plural, show, table } from "/page/dom.js";
import { saveCsv, saveJson } from "/page/files.js";
import { like, minus, percent, points, signed, stability, withUnit, wording } from "/page/numbers.js";

const PAGE = 24;
const FORMATS = { csv: "csv", tsv: "tsv", tab: "tsv", smi: "smi", smiles: "smi", txt: "smi", sdf: "sdf", sd: "sdf", mol: "sdf", xlsx: "xlsx", parquet: "parquet", pq: "parquet" };

const FEW = 20; // fragments of the ledger that are shown at first
const MOST = 200; // and when all are asked for

const state = {
  model: "", property: "prediction", unit: "", rows: [], rejected: [], ledger: [], changes: [], substituents: [], shown: [], page: 0,
  only: null, // the entry of the ledger whose molecules are shown
  asking: null, pictures: new Map(),
};

const fragment = (row) => row.subgraphs[0] ?? { smiles: "", atoms: [], score: null, keep_ratio: null, effect: null };
/** What is sorted by; of two classes the chance of the second, whichever is predicted. */
const KEYS = {
  line: (row) => row.line,
  value: (row) => row.second_class_probability ?? row.probability ?? [row.prediction].flat()[0],
  stability: (row) => row.stability,
  score: (row) => fragment(row).score,
  keep_ratio: (row) => fragment(row).keep_ratio,
};

export function setUpTable(limits, model) {
  $("file-hint").replaceChildren(
    `At most ${limits.rows.toLocaleString("en")} molecules and ${Math.round(limits.body / 1e6)} MB; for more, `,
    h("code", {}, "vgib recognize"), " takes any number.");
  $("upload").addEventListener("submit", (event) => {
    event.preventDefault();
    recognizeAll(limits, model());
  });
  $("stop").addEventListener("click", () => state.asking?.abort());
  $("search").addEventListener("input", () => arrange());
  $("sort").addEventListener("change", () => arrange());
  $("only").addEventListener("click", () => {
    state.only = null;
    arrange();
    $("search").focus();
  });
  $("page-before").addEventListener("click", () => turn(-1));
  $("page-after").addEventListener("click", () => turn(1));
  setUpTabs();
  setUpSaving();
}

function complain(message) {
  $("table-problem").textContent = message;
  show($("table-problem"), Boolean(message));
}

async function recognizeAll(limits, model) {
  const file = $("file").files[0];
  complain("");
  if (!file) {
    complain("Choose a file first.");
    $("file").focus();
    return;
  }
  if (file.size > limits.body) {
    complain(`The file has ${(file.size / 1e6).toFixed(1)} MB, more than the ${limits.body / 1e6} MB that this service takes; split it, or use \`vgib recognize\`.`);
    return;
  }
  state.asking?.abort();
  const asking = (state.asking = new AbortController());
  Object.assign(state, { rows: [], rejected: [], ledger: [], changes: [], substituents: [], page: 0, only: null, unit: "", model: model.name });
  forgetPictures();
  show($("table-result"), false);
  progress(0, 0);
  show($("table-progress"), true);
  const query = { model: model.name, details: true, format: FORMATS[file.name.split(".").pop().toLowerCase()] ?? "csv" };
  if ($("share").value) query.keep_ratio = $("share").value;
  if ($("property").value.trim()) query.property = $("property").value.trim();
  if ($("structures").value.trim()) query.smiles_column = $("structures").value.trim();
  try {
    await api.upload(file, query, receive, asking.signal);
  } catch (error) {
    if (state.asking !== asking) return; // another upload took its place
    if (error.name !== "AbortError") complain(error.message);
    else complain(state.rows.length ? "Stopped; what was done until then is shown." : "Stopped before any molecule was done.");
  }
  show($("table-progress"), false);
  if (state.asking !== asking || !(state.rows.length + state.rejected.length)) return;
  finish();
}

function receive(told) {
  if (told.ledger) {
    const { ledger, changes, substituents, property } = told;
    Object.assign(state, { ledger, changes, substituents, property, unit: told.effect_unit });
  }
  if (told.results) {
    state.rows.push(...told.results);
    state.rejected.push(...told.rejected);
    progress(told.done, told.of);
  }
}

function progress(done, of) {
  $("bar").max = of || 1;
  $("bar").value = done;
  $("bar-told").textContent = of ? `${done.toLocaleString("en")} of ${plural(of, "molecule")}` : "Reading the file …";
}

function finish() {
  show($("table-result"), true);
  $("tab-gallery").textContent = `Molecules (${state.rows.length.toLocaleString("en")})`;
  $("tab-ledger").textContent = `Fragments (${state.ledger.length.toLocaleString("en")})`;
  $("tab-rejected").textContent = `Refused (${state.rejected.length.toLocaleString("en")})`;
  announce(`${plural(state.rows.length, "molecule")} recognized, ${state.rejected.length.toLocaleString("en")} refused`);
  nameOrders();
  renderLedger();
  renderChanges();
  renderCores();
  renderRejected();
  arrange();
}

// ---- the gallery -----------------------------------------------------------------------------

/** Says in the choice of an order what is ordered. */
function nameOrders() {
  const what = chosenClass() ? `probability of ${chosenClass()}` : state.rows[0]?.probability == null ? "prediction" : "probability of the predicted class";
  for (const option of $("sort").options) {
    const [, order] = /^-?value$/.test(option.value) ? option.textContent.split(", ") : [];
    if (order) option.textContent = `${what}, ${order}`;
  }
}

function arrange() {
  const wanted = $("search").value.trim().toLowerCase();
  const key = $("sort").value.replace("-", "");
  const sign = $("sort").value.startsWith("-") ? -1 : 1;
  const matches = (row) => [row.id, row.smiles, fragment(row).smiles].some((text) => text?.toLowerCase().includes(wanted));
  const value = (row) => KEYS[key](row) ?? sign * Infinity; // what has none comes last in any order
  const lines = state.only && new Set(state.only.matches ?? state.only.lines);
  const found = state.rows.filter((row) => (!wanted || matches(row)) && (!lines || lines.has(row.line)));
  show($("only"), Boolean(state.only));
  if (state.only) $("only").textContent = `with ${named(state.only)} ✕`;
  state.shown = found.sort((a, b) => sign * (value(a) - value(b)) || a.line - b.line);
  state.page = 0;
  renderGallery();
}

function turn(step) {
  state.page += step;
  renderGallery();
  $("panel-gallery").scrollIntoView({ block: "start" });
}

function renderGallery() {
  const pages = Math.max(1, Math.ceil(state.shown.length / PAGE));
  const rows = state.shown.slice(state.page * PAGE, (state.page + 1) * PAGE);
  $("gallery-told").textContent = `${plural(state.shown.length, "molecule")}`;
  $("page-told").textContent = `Page ${state.page + 1} of ${pages}`;
  $("page-before").disabled = state.page === 0;
  $("page-after").disabled = state.page >= pages - 1;
  $("gallery").replaceChildren(...rows.map(card));
}

function card(row) {
  const part = fragment(row);
  const name = row.id || `Line ${row.line}`;
  const image = h("img", { alt: `${row.smiles}, ${plural(part.atoms.length, "atom")} outlined`, width: 300, height: 210, loading: "lazy" });
  const shades = row.effects ? { effects: row.effects } : { scores: row.scores };
  paint(row, image, { molecule: row.smiles, ...shades, atoms: part.atoms, width: 300, height: 210, legend: false });
  const view = { view: "molecule", model: state.model, smiles: row.smiles, ...(part.atoms.length ? { size: part.atoms.length } : {}) };
  return h(
    "figure",
    {},
    h("div", { class: "paper" }, image),
    h("figcaption", {}, h("b", {}, name), caption(row).map((line) => [h("br"), line]), h("br"),
      h("a", { href: `#${new URLSearchParams(view)}` }, "Look closer")),
  );
}

/** The lines below a picture: what is predicted, from which part, and what is against it. */
function caption(row) {
  const part = fragment(row);
  const as = wording(row.probability == null ? state.unit || "value" : "probability", row.prediction);
  const spread = row.spread == null ? "" : ` ± ${[row.spread].flat().map((one) => as.spread(one)).join(", ")}`;
  const effect = part.effect == null ? "" : ` ${signed(part.effect)} ${state.unit}`;
  return [
    minus(row.statement) + spread,
    row.subgraphs.length > 0 && [h("code", {}, part.smiles), effect],
    row.subgraphs.length > 0 && row.stability != null && `stability ${stability(row.stability)}`,
    row.why_none && `${row.subgraphs.length ? "why this part" : "why none"}: ${withUnit(row.why_none, as)}`,
    ...(row.warnings ?? []).map((warning) => h("span", { class: "careful" }, `Careful: this molecule ${warning}`)),
    row.note,
  ].filter(Boolean);
}

async function paint(row, image, asked) {
  if (!state.pictures.has(row)) {
    state.pictures.set(row, api.picture(asked).then((blob) => URL.createObjectURL(blob)));
  }
  try {
    image.src = await state.pictures.get(row);
  } catch (error) {
    state.pictures.delete(row);
    image.replaceWith(h("p", { class: "soft" }, error.message));
  }
}

function forgetPictures() {
  for (const picture of state.pictures.values()) picture.then(URL.revokeObjectURL, () => {});
  state.pictures.clear();
}

// ---- the other panels ------------------------------------------------------------------------

/** Of two classes the one that effects are about. */
const chosenClass = () => (state.rows[0]?.second_class_probability == null ? null : /^log-odds of (.*)$/.exec(state.unit)?.[1] ?? null);

/** What the ledger compares, in words. */
const isChance = () => Boolean(chosenClass()) && state.property === "prediction";
const compared = () => (isChance() ? `probability of ${chosenClass()}` : state.property);
const measured = (value, typical = value) => wording(isChance() ? "probability" : "value", typical).value(value);
const difference = (by, typical = by) => {
  if (by == null) return "–";
  return `${by < 0 ? "−" : "+"}${isChance() ? points(by) : like(Math.abs(by), typical)}`;
};
const named = (row) => row.called || row.fragment;

const LEDGER = [
  ["Fragment", "fragment", (row) => [thumbnail(row), h("br"), row.called ? h("b", {}, `${row.called} `) : "", h("code", {}, row.fragment)]],
  ["Molecules", "count", (row) => `${row.count.toLocaleString("en")} (${percent(row.share)})`],
  ["Mean with", "mean_with", (row) => measured(row.mean_with)],
  ["Mean without", "mean_without", (row) => measured(row.mean_without, row.mean_with)],
  ["Difference", "difference", (row) => difference(row.difference, row.mean_with)],
  ["95 % interval", "low", (row) => (row.low == null ? "too few" : `${difference(row.low, row.mean_with)} to ${difference(row.high, row.mean_with)}`)],
  ["Effect", "mean_effect", (row) => signed(row.mean_effect)],
  ["Pairs", "pair_difference", (row) => (row.pairs ? `${difference(row.pair_difference, row.mean_with)} in ${row.pairs}` : "–")],
  ["Examples", "names", (row) => h("button", { type: "button", class: "quiet small", title: "Show these molecules", onclick: () => showOnly(row) }, row.names.slice(0, 3).join(", "))],
];

/** Goes to the molecules that have a fragment. */
function showOnly(row) {
  state.only = row;
  $("tab-gallery").click();
  arrange();
  $("only").focus();
}

/** Without a key, in the order in which they came: what is sure and large first. */
function renderLedger(key = "", isDown = true, most = FEW) {
  const [unit, meant] = [state.unit ? `, in ${state.unit}` : "", compared()];
  $("ledger-told").textContent = state.ledger.length
    ? `Recognized parts, functional groups and ring systems that several molecules have, and the mean ${meant} with and without them: an association, not a cause. ` +
      `Intervals are corrected for the number of fragments; those that leave zero out come first. Effect is what the model ascribes to the fragment${unit}; pairs are molecules of the file that differ in it and little else.`
    : "No fragment recurs in this table.";
  show($("ledger-all"), state.ledger.length > most);
  if (!state.ledger.length) {
    $("ledger").replaceChildren();
    return;
  }
  $("ledger-all").textContent = `Show ${state.ledger.length > MOST ? `the first ${MOST}` : "all"} of ${plural(state.ledger.length, "fragment")}`;
  $("ledger-all").onclick = () => {
    renderLedger(key, isDown, MOST);
    $("ledger").querySelectorAll("tbody button")[most].focus();
  };
  const sign = isDown ? -1 : 1;
  const compare = (a, b) => (typeof a === "number" || typeof b === "number" ? (a ?? -Infinity) - (b ?? -Infinity) : String(a).localeCompare(String(b)));
  const rows = key ? [...state.ledger].sort((a, b) => sign * compare(a[key], b[key])) : state.ledger;
  $("ledger").replaceChildren(
    h("table", {},
      h("caption", { class: "unseen" }, "Fragments; a heading sorts by its column"),
      h("thead", {}, h("tr", {}, LEDGER.map(([title, name]) =>
        h("th", { scope: "col", "aria-sort": name === key ? (isDown ? "descending" : "ascending") : "none" },
          h("button", { type: "button", onclick: () => sortLedger(name, name === key ? !isDown : true, most) },
            title, h("span", { "aria-hidden": "true" }, name === key ? (isDown ? " ↓" : " ↑") : "")))))),
      h("tbody", {}, rows.slice(0, most).map((row) => h("tr", {}, LEDGER.map(([, , cell]) => h("td", {}, cell(row)))))),
    ),
  );
}

function sortLedger(name, isDown, most) {
  renderLedger(name, isDown, most);
  const titles = [...$("ledger").querySelectorAll("th button")];
  titles[LEDGER.findIndex(([, one]) => one === name)].focus();
}

/** The fragment itself, drawn when it comes into view. */
function thumbnail(row) {
  const image = h("img", { alt: "", width: 150, height: 100, class: "fragment" });
  const seen = new IntersectionObserver(([one]) => {
    if (!one.isIntersecting) return;
    seen.disconnect();
    paint(row, image, { molecule: row.fragment, width: 150, height: 100 });
  });
  seen.observe(image);
  return image;
}

const group = (smiles) => (smiles === "[*:1][H]" ? "hydrogen" : h("code", {}, smiles.replace("[*:1]", "*")));

/** What pairs of molecules differ in. */
function renderChanges() {
  const interval = (one) => (one.low == null ? "" : ` [${difference(one.low)}, ${difference(one.high)}]`);
  const columns = [
    ["From", (one) => group(one.before), false],
    ["To", (one) => group(one.after), false],
    ["Pairs", (one) => String(one.pairs), true],
    ["Change", (one) => `${difference(one.difference)}${interval(one)}`, false],
    ["Such as", (one) => one.names.slice(0, 2).join("; "), false],
  ];
  show($("changes-card"), Boolean(state.changes.length));
  $("changes-told").textContent = `Pairs of molecules of this file that differ in one place alone: so many change the first group to the second, and the ${compared()} changes by so much on average, with its interval from five pairs on.`;
  $("changes").replaceChildren(table(columns, state.changes.slice(0, 60), "Matched pairs"));
}

/** Series of molecules with one core. */
function renderCores() {
  const columns = [
    ["Core", (one) => h("code", {}, one.core), false],
    ["Place", (one) => one.place, false],
    ["Substituent", (one) => h("code", {}, one.group), false],
    ["Molecules", (one) => String(one.count), true],
    [`Mean ${compared()}`, (one) => measured(one.mean), true],
  ];
  show($("cores-card"), Boolean(state.substituents.length));
  $("cores").replaceChildren(table(columns, state.substituents.slice(0, 60), "Common cores and their substituents"));
}

function renderRejected() {
  const columns = [
    ["Line", (row) => String(row.line), true],
    ["Name", (row) => row.id ?? "", false],
    ["Text", (row) => h("code", {}, row.text ?? ""), false],
    ["Reason", (row) => row.reason, false],
  ];
  $("rejected").replaceChildren(
    state.rejected.length ? table(columns, state.rejected.slice(0, 1000), "Refused lines") : h("p", { class: "soft" }, "Every line could be used."),
  );
}

function setUpTabs() {
  const tabs = ["gallery", "ledger", "rejected"];
  const choose = (name) => {
    for (const one of tabs) {
      const isIt = one === name;
      $(`tab-${one}`).setAttribute("aria-selected", isIt);
      $(`tab-${one}`).tabIndex = isIt ? 0 : -1;
      show($(`panel-${one}`), isIt);
    }
  };
  tabs.forEach((name, place) => {
    $(`tab-${name}`).addEventListener("click", () => choose(name));
    $(`tab-${name}`).addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(place + step + tabs.length) % tabs.length];
      choose(next);
      $(`tab-${next}`).focus();
    });
  });
}

/** The columns of the first part, named as in the files of `vgib recognize`. */
const OF_PART = [
  ["rank", (row) => (row.subgraphs.length ? 1 : null)],
  ["subgraph", (row) => fragment(row).smiles],
  ...["atoms", "score", "keep_ratio", "value", "effect"].map((name) => [name, (row) => fragment(row)[name]]),
];

/** All that the rows tell, in the order and with the names of the files of `vgib recognize`. */
const columnsOf = (row) => Object.keys(row).flatMap((name) => (name === "subgraphs" ? OF_PART : [[name, (one) => one[name]]]));

function setUpSaving() {
  $("save-rows").addEventListener("click", () => saveCsv("molecules.csv", columnsOf(state.rows[0] ?? {}), state.shown));
  $("save-ledger").addEventListener("click", () =>
    saveCsv("fragments.csv", Object.keys(state.ledger[0] ?? { fragment: "" }).filter((name) => name !== "matches").map((name) => [name, (row) => row[name]]), state.ledger));
  $("save-table").addEventListener("click", () =>
    saveJson("table.json", { model: state.model, results: state.rows, ledger: state.ledger, changes: state.changes, substituents: state.substituents, rejected: state.rejected }));
}
