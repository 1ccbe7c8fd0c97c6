/** Signing in: by token, and by OpenID Connect where the service has it. */
import { element } from "../base/elements.js";
import { quiet } from "../base/blocks.js";
import { text } from "../base/fields.js";
import { asProblem, told } from "../base/problem.js";
import { ask, get } from "../base/service.js";
import { warn } from "../base/announce.js";

async function methods(signal) {
  try {
    const said = await get("/v1/session/methods", { signal });
    return Array.isArray(said) ? said : said.methods ?? ["token"];
  } catch {
    return ["token"];
  }
}

/** The view, with a problem that led here, if any; `entered` gets the new session. */
export const signIn = ({ notice, entered }) => async ({ signal }) => {
  const offered = await methods(signal);
  const token = text("Token",
    { type: "password", required: true, class: "code", hint: "The owner of this service gave it to you once." });
  token.input.setAttribute("autocomplete", "current-password");
  const problems = element("div", {}, notice ? told(notice) : null);
  const go = element("button", { type: "submit", class: "primary" }, "Sign in");
  const submit = async (event) => {
    event.preventDefault();
    if (!token.value) return token.input.focus();
    go.disabled = true;
    try {
      return entered(await ask("POST", "/v1/session", { body: { token: token.value } }));
    } catch (error) {
      const wrong = asProblem(error);
      if (wrong.status === 401) Object.assign(wrong,
        { message: "No valid token is written like this.",
        next: "Look for a missing letter. It may also have expired or been revoked: then ask the owner for another." });
      problems.replaceChildren(told(wrong));
      warn(wrong.message);
      return token.input.focus();
    } finally {
      go.disabled = false;
    }
  };
  const form = element("form", { on: { submit } }, problems, token.node, element("p", { class: "actions" }, go));
  return {
    title: "Sign in",
    body: [
      element("p", { class: "lead" },
        "Ask questions of private tables. Every answer is charged to a budget of privacy before it is computed."),
      element("section", { "aria-label": "Sign in" }, form,
        offered.includes("openid")
          ? [quiet("or"), element("p", {},
          element("a", { class: "button", href: "/v1/session/openid" }, "Sign in with OpenID"))] : null),
    ],
  };
};
