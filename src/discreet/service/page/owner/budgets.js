/** All budgets: opened, closed and opened again, lowered and raised, each with its reason. */
import { called, element } from "../base/elements.js";
import { button, section } from "../base/blocks.js";
import { ask, get, path, post } from "../base/service.js";
import { choice, deltaSlider, epsilonSlider, text } from "../base/fields.js";
import { value } from "../base/words.js";
import { budgetBlock, byKind } from "../views/budgets.js";
import { changed, living, reasonField } from "./change.js";

const KINDS = [["analyst", "An analyst"], ["group", "A group"], ["table", "A table"]];
const SAID = { close: "Closed", reopen: "Opened again", lower: "Lowered", raise: "Raised" };
const INTRO = {
  close: "Nothing can be charged to it until it is opened again. What was spent stays spent.",
  reopen: "What was left when it was closed can be charged again.",
  lower: "It cannot fall below what is spent.",
  raise: "More can then be learned about the same people. What was promised to them changes.",
};

function open(again) {
  const kind = choice("For", KINDS);
  const scope = text("Name", { required: true, maxlength: 100, hint: "Of the analyst, group or table." });
  const [epsilon, delta] = [epsilonSlider({ value: 1 }), deltaSlider({ value: 1e-6 })];
  return changed({ title: "Open a budget", label: "Open", fields: [kind, scope, epsilon, delta], said: "Opened", again,
    act: () => post("/v1/owner/budgets",
      { scope: scope.value, kind: kind.value, epsilon: epsilon.value, delta: delta.value }) });
}

function change(budget, action, again) {
  const given = budget.budget ?? {};
  const amounts = ["lower", "raise"].includes(action)
    ? [epsilonSlider({ value: value(given.epsilon ?? 1) || 1, hint: "What the whole budget is from now on." }),
    deltaSlider({ value: value(given.delta ?? 0) || 0 })] : [];
  const reason = reasonField();
  const body = () => ({ action, reason: reason.value,
    ...(amounts.length ? { epsilon: amounts[0].value, delta: amounts[1].value } : {}) });
  return changed({ title: [`${action[0].toUpperCase()}${action.slice(1)} `, called(budget.scope), "?"],
    label: `${action[0].toUpperCase()}${action.slice(1)}`, intro: INTRO[action],
    fields: [...amounts, reason], said: SAID[action], again,
      act: () => ask("PATCH", path("owner", "budgets", budget.scope), { body: body() }) });
}

const actions = (budget, again) =>
  element("p", { class: "actions" }, (budget.closed ? ["reopen"] : ["close", "lower", "raise"]).map((action) => button(
  `${action[0].toUpperCase()}${action.slice(1)} …`, () => change(budget, action, again),
    { "aria-label": `${action} budget ${budget.scope}` })));

export async function allBudgets({ signal }) {
  const load = async (again) => {
    const { budgets } = await get("/v1/owner/budgets", { signal });
    return [element("p", { class: "actions" }, button("Open a budget …", () => open(again), { class: "primary" })),
      byKind(budgets).map(([label, some]) =>
        section(label, some.map((budget) => budgetBlock(budget, actions(budget, again)))))];
  };
  return { title: "All budgets", body: await living(load, signal) };
}
