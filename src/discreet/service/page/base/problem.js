/** Errors in plain words: what happened, and what to do next. */
import { called, element } from "./elements.js";
import { atLeast, guarantee, sentence } from "./words.js";

// status → what happened, what to do where the service does not say
const PLAIN = {
  0: ["The service did not answer.",
    "Check your connection and try again. A release that is asked for again is paid once."],
  400: ["The service could not use that.", "Correct what is named below and try again."],
  401: ["You are not signed in.", "Sign in with a token. If yours has expired, ask the owner for another."],
  402: ["That does not fit what is left of a budget.",
    "Ask for less, or ask the owner to raise the budget. Nothing was charged."],
  403: ["You may not do that.", "It is for the owner of this service, or for a second person. Ask them."],
  404: ["There is nothing here that you may see.",
    "It may never have existed, or belong to somebody else. Go back and choose from the list."],
  409: ["That contradicts something that was done before.", "Load the page again to see how things stand now."],
  413: ["That is too much at once.", "Send less."],
  422: ["The service could not use that.", "Correct what is named below and try again."],
  429: ["Too many questions in too short a time.", "Wait a little and try again."],
  500: ["Something went wrong in the service.",
    "Try again. A release that is asked for again is paid once. If it stays, tell the owner the time."],
  503: ["The service cannot do that now.",
    "Try again in a minute. A release that is asked for again is paid once."],
};

export class Problem extends Error {
  constructor(status, said = {}) {
    const [happened, next] = PLAIN[status] ?? PLAIN[status >= 500 ? 500 : 400];
    super(happened);
    this.name = "Problem";
    this.status = status;
    this.said = said;
    this.next = typeof said.next === "string" && said.next ? said.next : next;
  }

  get detail() {
    const { detail, errors } = this.said;
    if (typeof detail === "string") return detail === this.message ? "" : detail;
    return (Array.isArray(detail) ? detail : errors ?? []).map(fault).join("; ");
  }
}

function fault(one) {
  if (typeof one === "string") return one;
  const where = (one.loc ?? []).filter((part) => part !== "body").join(".");
  return `${where ? `${where}: ` : ""}${one.msg ?? one.detail ?? ""}`;
}

/** Any error as a problem, so that nothing is shown as a stack of letters. */
export const asProblem = (error) =>
  (error instanceof Problem ? error : new Problem(error instanceof TypeError ? 0 : 500, { detail: error.message }));

const amounts = (said, label) => (said === undefined || said === null ? null
  : element("li", {}, `${label}: `, ...amount(said)));

function amount(said) {
  if (Array.isArray(said)) return said.flatMap((one, at) => [at ? "; " : "", ...amount(one)]);
  if (typeof said === "object" && said.scope) return [called(said.scope), ": ", guarantee(said.left ?? said, atLeast)];
  return [guarantee(said, atLeast)];
}

/** The box that tells of a problem; `again` offers to do the same once more. */
export function told(error, { again, actions = [] } = {}) {
  const problem = asProblem(error);
  return element("div", { class: "problem", role: "alert", "data-status": problem.status },
    element("p", {}, element("strong", {}, problem.message)),
    problem.detail ? element("p", {}, sentence(problem.detail)) : null,
    problem.said.left !== undefined || problem.said.fits !== undefined
      ? element("ul", {}, amounts(problem.said.left, "Left"), amounts(problem.said.fits, "What would fit")) : null,
    element("p", {}, sentence(problem.next)),
    again || actions.length ? element("p", { class: "actions" },
      again ? element("button", { type: "button", on: { click: again } }, "Try again") : null, actions) : null);
}
