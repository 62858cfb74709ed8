// What the page says of a prediction and of a part. Each function makes text from an answer of the
// service and from what is looked at; none of them touches the page.

import { number, percent, shareBelow, stability, withUnit, wording } from "/page/numbers.js";

const DRUGS = 217;

/** How the numbers of an answer are told. */
export const wordingOf = (found) => wording(found.quantity, found.value);

const members = (found) => (found.members.length > 1 ? `the ${found.members.length} members` : "the model");

/** Where the number comes from, below the prediction. */
export function ofMembers(found) {
  const as = wordingOf(found);
  const what = as.isProbability ? `${found.quantity[0].toUpperCase()}${found.quantity.slice(1)}: ${as.value(found.value)}. ` : "";
  if (found.members.length === 1) return `${what}One member; how far it can be trusted is not known.`;
  const unit = as.isProbability ? ", in percentage points," : "";
  return `${what}Mean and standard deviation${unit} of ${found.members.length} members: networks that differ in their seed alone.`;
}

function nearest([one], model) {
  const named = model?.classes ? model.class_names[model.classes.indexOf(one.measured)] ?? `class ${one.measured}` : number(one.measured);
  const measured = `measured ${named}${one.smiles ? ` (${one.smiles})` : ""}`;
  return one.similarity === 1
    ? ["Like one in training", `cannot be told apart from a training molecule, ${measured}`]
    : ["Nearest in training", `similarity ${one.similarity.toFixed(2)}, ${measured}`];
}

/** What to know before the prediction is trusted, what is against it first. */
export function besides(found, model) {
  const as = wordingOf(found);
  const facts = found.warnings.map((warning) => ["Careful", `this molecule ${warning}`]);
  if (found.interval) {
    const [low, high] = found.interval;
    facts.push(["Nine of ten", `measured values of held-out molecules lay in such an interval: ${as.value(low)} to ${as.full(high)}`]);
  }
  const what = !as.isProbability ? "value" : model?.classes?.length > 2 ? "probability of the likeliest class" : found.quantity;
  facts.push(["Among known drugs", `a higher ${what} than ${shareBelow(found.percentile, DRUGS)} drugs`]);
  facts.push(found.nearest.length ? nearest(found.nearest, model) : ["Training", "the model does not tell whether it learned from such molecules"]);
  if (found.alerts.length) facts.push(["Structural alerts", found.alerts.join("; ")]);
  return facts;
}

/** Whether a part is the only one of its size. */
function isOnly(size) {
  const [low, , high] = size.random;
  return size.parts.length === 1 && Math.abs(high - low) <= 1e-9 * Math.abs(high);
}

/** Whether a random part of the same size is predicted as near to the molecule. */
function isRandomAlike(found, size, part) {
  const far = (value) => Math.abs(value - found.value);
  return !isOnly(size) && far(size.random[1]) <= Math.max(found.tolerance, far(part.value));
}

/** What the part that is looked at is called; `isRecognized` tells that it is the answer. */
export function partTitle(found, size, part, { isRecognized, isSufficient }) {
  if (isRecognized && found.why_none) return "The part with the largest effect";
  if (!isRecognized) return found.subgraphs.length ? "The part alone" : "A part of this size, for comparison";
  if (!isSufficient) return "The recognized part alone";
  const alike = isRandomAlike(found, size, part) ? ", but so does a random part of this size" : "";
  return `A small part that suffices${alike}`;
}

/** Why there is no part, or why this one is shown. */
export function why(found, isNothing) {
  const title = found.subgraphs.length ? "Why this part" : isNothing ? "Why none" : "No part found";
  return `${title}: ${withUnit(found.why_none, wordingOf(found))}.`;
}

/** What a part is to be compared with. */
export function partTold(found, size) {
  const as = wordingOf(found);
  if (size.atoms === found.scores.length) return "This is the whole molecule. Move the slider to a smaller part.";
  const [low, middle, high] = size.random.map(as.value);
  const random = isOnly(size) ? "It is the only part of this size."
    : low === high ? `From each random part of this size: ${middle}.`
    : `From random parts of this size: ${middle} in the middle, ${low} to ${high} nine times of ten.`;
  const agreed = size.stability == null ? "" : ` Stability ${stability(size.stability)}: how far ${members(found)} choose the same atoms.`;
  return `From the whole molecule: ${as.value(found.value)}. ${random}${agreed}`;
}

/** What became of the prediction when the user kept some atoms. */
export function ownTold(found, answer) {
  const as = wordingOf(found);
  const reason = answer.reason ? ` Note: ${answer.reason}; the model reads the atoms as they were.` : "";
  return `${as.change(answer.value - found.value)} against the ${as.value(found.value)} of the whole molecule.${reason}`;
}

/** Why a curve inside the strip is no part that suffices; empty where none is there to be explained. */
export function stripTold(found) {
  const [, most] = /^no part of at most (\d+) %/.exec(found.why_none ?? "") ?? [];
  const isInside = (size) => size.atoms < found.scores.length && Math.abs(size.parts[0].value - found.value) <= found.tolerance;
  if (!most || !found.sizes.some(isInside)) return "";
  const each = found.members.length > 1 ? `each of ${members(found)} must predict the part so (the curve is their mean)` : "";
  const own = wordingOf(found).isProbability ? "the part must be predicted as the same class also as a molecule of its own" : "";
  const rules = [each, own, `a part has at most ${percent(most / 100)} of the atoms`, "a group without carbon counts with the atom that it sits on"];
  return `Here the strip alone is not enough: ${rules.filter(Boolean).join("; ")}.`;
}
