/** An answer of the service: the number or chance, how sure it is, and what it was charged. */
import { called, element } from "../base/elements.js";
import { facts, quiet } from "../base/blocks.js";
import { guarantee, number, percent, value } from "../base/words.js";

const SHOWN = 20;
const known = (x) => x !== null && x !== undefined;

function plain(said) {
  if (typeof said === "boolean") return said ? "true" : "false";
  if (Array.isArray(said)) return said.slice(0, SHOWN).map(plain).join(", ");
  return typeof said === "number" ? number(said, 6) : String(said ?? "–");
}

/** Of what an answer may have beside its number, what this one has. */
function beside({ lower, upper, level, sd, each, undefined: lost }) {
  return facts([
    known(lower) && known(upper)
      ? [known(level) ? `${percent(level)} interval` : "Interval", `${number(lower, 4)} to ${number(upper, 4)}`] : null,
    known(sd) ? ["Standard deviation", number(sd)] : null,
    each?.length > 1 ? ["At each draw", plain(each)] : null,
    lost ? ["Without a number", `${percent(lost)} of θ`] : null]);
}

function parts(said) {
  if (said === null || typeof said !== "object"
    || Array.isArray(said)) return [element("p", { class: "answer" }, plain(said))];
  const main = said.mean ?? said.value ?? said.each;
  return [element("p", { class: "answer" }, said.kind === "probability" ? percent(main) : plain(main)), beside(said)];
}

const nothing = (price) => (typeof price === "object" && price !== null
  ? value(price.epsilon ?? NaN) === 0 && value(price.delta ?? 0) === 0 : value(price) === 0);

const receiptOf = (receipt) => (typeof receipt === "object" ? receipt.id ?? receipt.charge_id ?? "kept" : receipt);

/** The answer with what it was an answer to, and what it was charged. */
export function answered(query, said) {
  const free = nothing(said.price);
  return element("div", { class: "good" }, element("p", { class: "mono" }, called(query, 300)), parts(said.answer),
    quiet(free ? "Free: it reads a release that is already paid for."
      : `Charged: ${guarantee(said.price)}. It is one draw from the posterior: asked again, it differs and is charged again.`),
    !free && known(said.receipt) ? quiet("Receipt: ", called(receiptOf(said.receipt), 80)) : null);
}
