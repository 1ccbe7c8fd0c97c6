/** The query box of a release that is paid for: every question is free. */
import { element } from "../base/elements.js";
import { quiet } from "../base/blocks.js";
import { get, path, post } from "../base/service.js";
import { asProblem, told } from "../base/problem.js";
import { say, warn } from "../base/announce.js";
import { queryField } from "./complete.js";
import { answered } from "./answer.js";

export const GRAMMAR = "Parameters by name, arithmetic, comparison; E[A | B = b] where the model has columns that explain each other.";

export function freeBox(id, signal) {
  const field = queryField("Query", { hint: GRAMMAR });
  const answers = element("div", { class: "answers" });
  const problems = element("div", {});
  const go = element("button", { type: "submit", class: "primary" }, "Ask for free");
  get(path("queries", "names", { release: id }), { signal }).then((said) => field.offer(said)).catch(() => {});
  const submit = async (event) => {
    event.preventDefault();
    if (!field.value) return field.input.focus();
    go.disabled = true;
    problems.replaceChildren();
    try {
      const said = await post("/v1/queries", { query: field.value, release: id }, { signal });
      answers.prepend(answered(field.value, said));
      say("Answered");
    } catch (error) {
      if (signal.aborted) return null;
      problems.replaceChildren(told(error));
      warn(asProblem(error).message);
    } finally {
      go.disabled = false;
    }
    return null;
  };
  return element("form", { class: "ask", novalidate: true, on: { submit } }, field.node,
    element("p", { class: "actions" }, go, element("span", { class: "price" }, "Price: 0")),
    quiet("It reads what was released, and touches no private row."), problems, answers);
}
