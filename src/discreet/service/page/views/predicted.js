/** What a plan predicts: a picture of before and after, and a row for each mechanism. */
import { element } from "../base/elements.js";
import { facts, quiet, table } from "../base/blocks.js";
import { guarantee, number, percent, sentence, spaced } from "../base/words.js";
import { lines, peak } from "../charts/lines.js";

export function picture({ prior, posterior }) {
  if (!prior && !posterior) return quiet("No picture: this model has several parameters, or one that is not simulated.");
  const curves = [prior && { ...prior, kind: "prior", label: "prior" },
    posterior && { ...posterior, kind: "posterior", label: "simulated posterior", filled: true }].filter(Boolean);
  const told = curves.map((curve) => `the ${curve.label} is ${flat(curve) ? "flat" : `highest near ${number(peak(curve))}`}`)
    .join(", ");
  return lines({
    title: "Before and after", description: `Simulated with data that the prior imagines, not yours: ${told}.`,
    curves, shapes: true, across: { label: "parameter" }, up: { label: "density" },
  });
}

const flat = ({ y }) => Math.max(...y) - Math.min(...y) <= 1e-6 * Math.max(...y);
const nameOf = (row) => spaced(row.name ?? row.mechanism);
const known = (x) => x !== null && x !== undefined;

/** A table of the mechanisms, one of which is chosen by its number. */
export function mechanisms(rows, chosen, choose) {
  const shown = rows.map((row, at) => [
    element("label", { class: "tick" }, element("input", { type: "radio", name: "mechanism", checked: at === chosen,
      on: { change: () => choose(at) } }), element("span", {}, nameOf(row))),
    known(row.width) ? number(row.width) : "–", known(row.error) ? number(row.error) : "–",
    known(row.coverage) ? percent(row.coverage) : "–", guarantee(row.price)]);
  return table("What each mechanism would give",
    [["Mechanism"], "Width of a 90 % interval", "Error", "Coverage", ["Price"]], shown);
}

export const without = (exact) => (known(exact?.width)
  ? quiet(`Without privacy the interval would be ${number(exact.width)} wide.`) : null);

/** Mechanisms that cannot do it, and why. */
export const refused = (list) =>
  (list?.length ? element("details", {}, element("summary", {}, "Mechanisms that cannot do this"),
  facts(list.map(({ mechanism, reason }) => [spaced(mechanism), sentence(reason)]))) : null);
