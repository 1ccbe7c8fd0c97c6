/** What would remain of each budget after a release. */
import { called, element } from "../base/elements.js";
import { quiet } from "../base/blocks.js";
import { left, value } from "../base/words.js";
import { budgetBar } from "../charts/bars.js";
import { leftOf } from "./budgets.js";

// (ε, δ) add up in these budgets; in the others only the service knows what remains
const ADDS = new Set(["PureDP", "ApproxDP", undefined]);
const known = (price) => typeof price === "object" && price?.epsilon !== null && price?.epsilon !== undefined;

function after(budget, { epsilon, delta }) {
  if (!budget.left || !ADDS.has(budget.budget?.kind)) return null;
  const [e, d] = [value(budget.left.epsilon) - value(epsilon), value(budget.left.delta ?? 0) - value(delta ?? 0)];
  return { fits: e >= 0 && d >= 0, left: { epsilon: Math.max(0, e), delta: Math.max(0, d) } };
}

function words(budget, price, exact) {
  if (budget.closed) return "closed, it would be refused";
  const then = after(budget, price);
  if (then === null) return `now ${leftOf(budget)}; what remains is told afterwards`;
  if (!then.fits) return `it does not fit, there is left ${left(budget.left)}`;
  return `${exact ? "" : "about "}${left(then.left)}`;
}

function line(budget, price, exact) {
  const given = value(budget.budget?.epsilon);
  return element("li", {}, called(budget.scope, 60), ": ", words(budget, price, exact),
    budgetBar(budget.spent_fraction, `Budget ${budget.scope}`, given > 0 ? value(price.epsilon) / given : 0));
}

/** A list of the budgets in `scopes` with what would be left. A price of another kind than (ε, δ) is at most what was asked. */
export function remainder(budgets, scopes, asked, price) {
  const touched = scopes?.length ? budgets.filter(({ scope }) => scopes.includes(scope)) : budgets;
  if (!touched.length) return quiet("You have no budget that could be charged. Ask the owner for one.");
  const exact = known(price);
  return element("ul", { class: "remains" }, touched.map((budget) => line(budget, exact ? price : asked, exact)));
}
