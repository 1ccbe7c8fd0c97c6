/** Budgets as bars. */
import { called, element } from "../base/elements.js";
import { facts, quiet, section } from "../base/blocks.js";
import { guarantee, left, percent, spaced } from "../base/words.js";
import { get } from "../base/service.js";
import { budgetBar } from "../charts/bars.js";

export const KINDS = { analyst: "Analysts", group: "Groups", table: "Tables" };

/** What is left of a budget, in the service's words where it has some. */
export const leftOf = (budget) => (budget.left ? left(budget.left) : left(budget.left_words));

/** One budget: its bar, what was given, what is left. */
export const budgetBlock = (budget, ...more) => element("div", { class: "budget" },
  element("p", {}, element("strong", {}, called(budget.scope)), budget.closed ? " (closed)" : "",
    `: ${percent(budget.spent_fraction ?? 0)} spent`),
  budgetBar(budget.spent_fraction, shownScope(budget)),
  facts([["Given", guarantee(budget.words ?? budget.budget)],
    ["Left", budget.closed ? "closed: nothing can be charged" : leftOf(budget)],
    budget.owner && budget.owner !== budget.scope ? ["Whose", called(budget.owner)] : null]), more);

const shownScope = ({ scope }) => `Budget ${scope}`;

export const byKind = (budgets) =>
  Object.entries(KINDS).map(([kind, label]) => [label, budgets.filter((one) => one.kind === kind)])
  .concat([["Others", budgets.filter((one) => !(one.kind in KINDS))]]).filter(([, some]) => some.length);

export async function budgets({ signal }) {
  const { budgets: all } = await get("/v1/budgets", { signal });
  return { title: "Budgets", body: [
    quiet("A release is charged to every budget that it touches, to all or to none."),
    all.length ? byKind(all).map(([label, some]) => section(spaced(label), some.map((one) => budgetBlock(one))))
      : quiet("You have no budget yet. Ask the owner of this service for one."),
  ] };
}
