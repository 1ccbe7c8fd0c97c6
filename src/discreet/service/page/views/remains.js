/** What would remain of each budget after a release. */
import { called, element } from "../base/elements.js";
import { quiet } from "../base/blocks.js";
import { left, value } from "../base/words.js";
import { budgetBar } from "../charts/bars.js";
import { leftOf } from "./budgets.js";

// (ε, δ) add up in these budgets; in the others only the service knows what remains
const ADDS = new Set(["PureDP", "ApproxDP", undefined]);

function after(budget, { epsilon, delta }) {
  if (!budget.left || !ADDS.has(budget.budget?.kind)) return null;
  const remains = { epsilon: value(budget.left.epsilon) - value(epsilon),
    delta: value(budget.left.delta ?? 0) - value(delta ?? 0) };
  return { fits: remains.epsilon >= 0 && remains.delta >= 0,
    left: { epsilon: Math.max(0, remains.epsilon), delta: Math.max(0, remains.delta) } };
}

const touched = (budgets, row) =>
  (row?.scopes?.length ? budgets.filter(({ scope }) => row.scopes.includes(scope)) : budgets);

function line(budget, price) {
  const said = after(budget, price);
  const given = value(budget.budget?.epsilon);
  const words = budget.closed ? "is closed: it would be refused" : said === null
    ? `now ${leftOf(budget)}; what remains is told afterwards`
    : said.fits ? left(said.left) : `it does not fit; there is left ${left(budget.left)}`;
  return element("li", {}, called(budget.scope, 60), ": ", words,
    budgetBar(budget.spent_fraction, `Budget ${budget.scope}`, given > 0 ? value(price.epsilon) / given : 0));
}

/** A list of the budgets with what would be left; the service's own words where the plan has them. */
export function remainder(budgets, request, row) {
  if (row?.remaining?.length) return element("ul", {},
    row.remaining.map((one) =>
    element("li", {}, called(one.scope, 60), ": ", one.fits === false ? "it does not fit; " : "",
    one.left_words ?? left(one.left))));
  const price = typeof row?.price === "object" && row.price?.epsilon !== undefined ? row.price : request;
  const some = touched(budgets, row);
  return some.length ? element("ul", { class: "remains" }, some.map((budget) => line(budget, price)))
    : quiet("You have no budget that could be charged.");
}
