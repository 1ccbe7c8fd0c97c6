/** The two pictures of a promise: δ(ε), and what a test can reach. */
import { number, percent, value } from "../base/words.js";
import { lines } from "./lines.js";

const at = (xs, ys, wanted) =>
  value(ys[xs.reduce((best, x, index) =>
  (Math.abs(value(x) - wanted) < Math.abs(value(xs[best]) - wanted) ? index : best), 0)]);

/** The trade-off curve: how often a test may be right, for each rate of false alarms. */
export function tradeOff({ false_alarms: alarms, hits }) {
  const told = [0.05, 0.1, 0.5].map((rate) =>
    `at ${percent(rate)} false alarms at most ${percent(at(alarms, hits, rate))} hits`).join("; ");
  return lines({ title: "What an attacker's test can reach",
    description: `${told[0].toUpperCase()}${told.slice(1)}. A coin has as many hits as false alarms.`,
    curves: [{ x: alarms, y: hits, kind: "posterior", label: "right at most", filled: true },
      { x: [0, 1], y: [0, 1], kind: "coin", label: "a coin" }],
    across: { label: "false alarms", ends: [0, 1], words: percent },
      up: { label: "hits", ends: [0, 1], words: percent } });
}

const SMALLEST = 1e-12;

/** The curve as far as it is worth a picture: a little beyond its promise, and beyond where it is drawn at the bottom. */
function near(profile, promised) {
  const low = profile.delta.findIndex((y) => value(y) <= SMALLEST);
  const far = profile.epsilon.findIndex((x) => value(x) > 2 * value(promised?.epsilon ?? 1));
  const end = Math.max(low < 0 ? profile.epsilon.length : low, far < 0 ? profile.epsilon.length : far) + 1;
  return { epsilon: profile.epsilon.slice(0, end), delta: profile.delta.slice(0, end) };
}

/** The privacy curve of a release, with its promise marked. */
export function privacyCurve(profile, promised) {
  const { epsilon, delta } = near(profile, promised);
  const marks = promised ? [[value(promised.epsilon), Math.max(SMALLEST, value(promised.delta) || SMALLEST)]] : [];
  const told = epsilon.map((x, index) => [value(x), value(delta[index])]).filter((_, index) =>
    [0, Math.floor(epsilon.length / 2), epsilon.length - 1].includes(index));
  const some = told.map(([x, y]) => `${number(y)} at ε = ${number(x)}`).join(", ");
  const description = `The chance δ that the loss exceeds ε: ${some}.${promised ? " The dot is what was promised." : ""}`;
  return lines({ title: "Privacy curve δ(ε)", description, marks,
    curves: [{ x: epsilon, y: delta.map((y) => Math.max(SMALLEST, value(y))), kind: "posterior", label: "δ(ε)" }],
    across: { label: "ε" }, up: { label: "δ", log: true, ends: [SMALLEST, 1] } });
}
