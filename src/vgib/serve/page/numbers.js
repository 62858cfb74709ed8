// Numbers as people read them: the page has no other way to show one.

const NONE = "–";
const GAP = "\u00a0"; // no line may break before a unit
const CHANCE = 0.4; // of stability: random parts agree to about a third

/** Proper minus signs in the place of the hyphens that computers write before numbers. */
export const minus = (text) => text.replace(/(^|\s|\de)-(?=[\d.])/g, "$1−");

/** A number with so many digits that count. */
export function number(value, digits = 3) {
  if (!Number.isFinite(value)) return NONE;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-3) return minus(value.toExponential(digits - 1));
  return minus(value.toFixed(Math.max(0, digits - 1 - Math.floor(Math.log10(size)))));
}

/** How many decimals three digits of a number need; none where it is told as a power of ten. */
function decimalsOf(model) {
  const size = Math.abs(model) || 1;
  return size >= 1e5 || size < 1e-3 ? null : Math.max(0, 2 - Math.floor(Math.log10(size)));
}

/** A number with as many decimals as three digits of another number need. */
export function like(value, model) {
  const decimals = decimalsOf(model);
  return !Number.isFinite(value) || decimals == null ? number(value) : minus(value.toFixed(decimals));
}

/** With its sign, also where it is positive. */
export const signed = (value) =>
  Number.isFinite(value) ? `${value < 0 ? "−" : "+"}${number(Math.abs(value), 2)}` : NONE;

/** A share of atoms or of molecules. */
export const percent = (share) => `${Math.round(100 * share)}${GAP}%`;

/** A probability with digits where they matter, as Python tells it: 79 %, 98.7 %, 0.03 %. */
export function chance(probability) {
  if (!Number.isFinite(probability)) return NONE;
  const inside = 100 * Math.min(probability, 1 - probability);
  return `${(100 * probability).toFixed(inside > 5 ? 0 : inside > 0.5 ? 1 : 2)}${GAP}%`;
}

/** A distance that is not zero is never told as zero. */
function distance(size, decimals) {
  const told = size.toFixed(decimals);
  return size > 0 && Number(told) === 0 ? `less than ${(10 ** -decimals).toFixed(decimals)}` : told;
}

/** A difference of probabilities, which is in percentage points, without its sign. */
export function points(difference) {
  if (!Number.isFinite(difference)) return NONE;
  const size = 100 * Math.abs(difference);
  return `${distance(size, size >= 10 ? 0 : size >= 1 ? 1 : 2)}${GAP}points`;
}

const ofProbabilities = (quantity) => ({
  isProbability: true,
  value: chance,
  full: (value) => `${chance(value)} ${quantity}`,
  spread: points,
  change: (by) => (Number.isFinite(by) ? `${by < 0 ? "−" : "+"}${points(by)}` : NONE),
  within: (far) => `${Math.round(100 * far)}${GAP}percentage points`,
});

function ofValues(unit, typical) {
  const inUnit = (text) => (unit ? `${text} ${unit}` : text);
  const value = (one) => like(one, typical);
  return {
    isProbability: false,
    value,
    full: (one) => inUnit(value(one)),
    spread: (by) => (decimalsOf(typical) == null ? number(by, 2) : distance(by, decimalsOf(typical))),
    change: (by) => inUnit(signed(by)),
    within: (far) => inUnit(far),
  };
}

/**
 * How the numbers of one quantity are told.
 *
 * `value` is the number alone and `full` the same with its unit; `spread` is a distance, `change` a
 * difference with its sign, `within` a tolerance, all three with their unit where it is not plain.
 *
 * @param quantity "probability of active", or the unit of values, or "value" where they have none
 * @param typical  a value whose three digits decide how many decimals all others get
 */
export const wording = (quantity, typical) =>
  quantity.startsWith("probability") ? ofProbabilities(quantity) : ofValues(quantity === "value" ? "" : quantity, typical);

/** How far the members choose the same atoms, and whether random parts would agree as far. */
export const stability = (share) => `${percent(share)}${share < CHANCE ? " (no better than chance)" : ""}`;

/** Of so many drugs; 99.5 % of them are not all of them. */
export function shareBelow(percentile, count) {
  if (percentile <= 0) return `none of ${count}`;
  if (percentile >= 100) return `all ${count}`;
  return `${Math.min(Math.max(Math.round(percentile), 1), 99)}${GAP}% of ${count}`;
}

/** Why no part suffices, with the unit of how far one may be off. */
export const withUnit = (why, as) => why.replace(/\(to within ([\d.]+)\)/, (_, far) => `(to within ${as.within(far)})`);
