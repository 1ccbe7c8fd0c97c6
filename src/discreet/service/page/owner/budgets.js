/** All budgets: opened, closed and opened again, lowered and raised, each with its reason. */
import { called, element } from "../base/elements.js";
import { button, section } from "../base/blocks.js";
import { ask, get, path, post } from "../base/service.js";
import { choice, deltaSlider, epsilonSlider, text } from "../base/fields.js";
import { value } from "../base/words.js";
import { budgetBlock, byKind } from "../views/budgets.js";
import { changed, living, reasonField } from "./change.js";

const KINDS = [["analyst", "An analyst"], ["group", "A group"], ["table", "A table"]];
const RELATIONS = [["substitute", "One record replaced"], ["add_remove", "One record more or less"]];
const CHANGES = {
  close: ["Close", "Closed", "Nothing can be charged to it until it is opened again. What was spent stays spent."],
  reopen: ["Reopen", "Opened again", "What was left when it was closed can be charged again."],
  lower: ["Lower", "Lowered", "It cannot fall below what is spent."],
  raise: ["Raise", "Raised", "More can then be learned about the same people. What was promised to them changes."],
};

function open(again) {
  const kind = choice("For", KINDS);
  const owner = text("Name", { required: true, maxlength: 100, hint: "Of the analyst, group or table." });
  const [epsilon, delta] = [epsilonSlider({ value: 1 }), deltaSlider({ value: 1e-6 })];
  const relation = choice("What is hidden", RELATIONS, { hint: "As for the tables that it will be charged for." });
  return changed({
    title: "Open a budget", label: "Open", fields: [kind, owner, epsilon, delta, relation], said: "Opened", again,
    act: () => post("/v1/owner/budgets",
      { kind: kind.value, owner: owner.value, epsilon: epsilon.value, delta: delta.value, relation: relation.value }),
  });
}

function change(budget, action, again) {
  const [label, said, intro] = CHANGES[action];
  const given = budget.budget ?? {};
  const epsilon = epsilonSlider({ value: value(given.epsilon ?? 1) || 1,
    hint: "What the whole budget is from now on." });
  const delta = deltaSlider({ value: value(given.delta ?? 0) || 0 });
  const reason = reasonField();
  const sized = action === "lower" || action === "raise";
  const body = () => ({ action, reason: reason.value,
    ...(sized ? { epsilon: epsilon.value, delta: delta.value } : {}) });
  return changed({
    title: [`${label} `, called(budget.scope), "?"], label, intro, fields: sized ? [epsilon, delta, reason] : [reason],
      said, again,
    act: () => ask("PATCH", path("owner", "budgets", budget.scope), { body: body() }),
  });
}

function actions(budget, again) {
  const offered = budget.closed ? ["reopen"] : ["close", "lower", "raise"];
  return element("p", { class: "actions" }, offered.map((action) => button(`${CHANGES[action][0]} …`,
    () => change(budget, action, again), { "aria-label": `${CHANGES[action][0]} budget ${budget.scope}` })));
}

export async function allBudgets({ signal }) {
  const load = async (again) => {
    const { budgets } = await get("/v1/owner/budgets", { signal });
    return [
      element("p", { class: "actions" }, button("Open a budget …", () => open(again), { class: "primary" })),
      byKind(budgets).map(([label, some]) =>
        section(label, some.map((budget) => budgetBlock(budget, actions(budget, again))))),
    ];
  };
  return { title: "All budgets", body: await living(load, signal) };
}
