/** A question before something that cannot be taken back. */
import { element, freshId } from "./elements.js";
import { asProblem, told } from "./problem.js";
import { warn } from "./announce.js";

/**
 * Ask; resolves with what `act` returned, or null where nothing was done. While `act` runs the question stays; where
 * it fails, the problem is shown inside it and the same thing can be tried again; `remedy` may offer something better.
 */
export function confirmed({ title, body, label, act, remedy, cancel = "Cancel" }) {
  return new Promise((resolve) => {
    const id = freshId("dialog");
    const problems = element("div", {});
    const go = element("button", { type: "submit", class: "primary" }, label);
    const stop = element("button", { type: "button", on: { click: () => box.close() } }, cancel);
    const form = element("form", { method: "dialog" }, element("h2", { id, tabindex: -1 }, title),
      body, problems,
      element("p", { class: "actions" }, go, stop));
    const box = element("dialog", { "aria-labelledby": id }, form);
    let result = null;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (go.disabled) return;
      go.disabled = true;
      box.setAttribute("aria-busy", "true");
      problems.replaceChildren();
      try {
        result = await act();
        box.close();
      } catch (error) {
        problems.replaceChildren(told(error, { actions: remedy?.(asProblem(error), () => box.close()) }));
        problems.scrollIntoView({ block: "nearest" });
        warn(asProblem(error).message);
      } finally {
        go.disabled = false;
        box.removeAttribute("aria-busy");
      }
    });
    // A charge under way is not walked away from by accident; the answer is seconds away
    box.addEventListener("cancel", (event) => { if (go.disabled) event.preventDefault(); });
    box.addEventListener("close", () => { box.remove(); resolve(result); });
    document.body.append(box);
    box.showModal();
    (form.querySelector("input, select, textarea") ?? form.querySelector("h2")).focus();
  });
}
