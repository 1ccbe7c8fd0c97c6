/** Which view the address names: #/name?query. One view at a time; leaving it stops what it was asking for. */
import { element } from "./elements.js";
import { asProblem, told } from "./problem.js";
import { say, warn } from "./announce.js";

let leaving = new AbortController();

/** The name and query of the address. */
export function here() {
  const [name, query = ""] = location.hash.replace(/^#\/?/u, "").split("?");
  return { name, query: new URLSearchParams(query) };
}

/** An address of a view. */
export function to(name, query = {}) {
  const asked = new URLSearchParams(Object.entries(query).filter(([, wanted]) =>
    wanted !== undefined && wanted !== null).map(([key, wanted]) => [key, String(wanted)]));
  return `#/${name}${asked.size ? `?${asked}` : ""}`;
}

export const go = (name, query) => {
  if (location.hash === to(name, query)) window.dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = to(name, query);
};

function shown(main, title, children, focus) {
  const heading = element("h1", { tabindex: -1 }, [title].flat());
  main.dataset.view = here().name;
  main.replaceChildren(heading, ...children);
  document.title = `${heading.textContent.slice(0, 80)} · discreet`;
  if (!focus) return;
  window.scrollTo(0, 0);
  heading.focus({ preventScroll: true });
}

/** Show a view: an async function of { query, signal, session } that returns { title, body }. */
export async function show(view, context, focus = true) {
  leaving.abort();
  for (const dialog of document.querySelectorAll("dialog[open]")) dialog.close();
  leaving = new AbortController();
  const { signal } = leaving;
  const main = document.getElementById("main");
  main.setAttribute("aria-busy", "true");
  const slow = setTimeout(() => say("Loading"), 600);
  try {
    const { title, body } = await view({ ...context, signal });
    if (!signal.aborted) shown(main, title, [body].flat(Infinity).filter(Boolean), focus);
  } catch (error) {
    if (signal.aborted) return;
    shown(main, "That did not work", [told(error, { again: () => show(view, context) })], focus);
    warn(asProblem(error).message);
  } finally {
    clearTimeout(slow);
    if (!signal.aborted) main.removeAttribute("aria-busy");
  }
}
