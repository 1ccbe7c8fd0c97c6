/** A field for a query that completes names and functions: a combobox, by arrow keys, Enter, Tab and Escape. */
import { element, freshId, visible } from "../base/elements.js";
import { counted } from "../base/words.js";
import { say } from "../base/announce.js";

// A word, or what stands since a quote that was opened
const WORD = /[\p{L}\p{N}_]+$/u;
const QUOTED = /"[^"]*$/u;
const PLAIN = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const SHOWN = 12;

/** A name as a query has it: in quotes where it is no plain word, a quote within it doubled. */
const written = (name) => (PLAIN.test(name) || name.startsWith('"') ? name : `"${name.replaceAll('"', '""')}"`);
const opened = (name) => (/[([]$/u.test(name) ? name : `${name}(`);
const unquoted = (text) => text.replace(/^"/u, "").toLocaleLowerCase();

const offered = (kind, texts, insert) =>
  texts.map((text) => ({ kind, text: insert(text).startsWith('"') ? text : insert(text), insert: insert(text) }));

/** All that may be named: parameters and functions, and of models that have them columns and levels for E and P. */
export function vocabulary({ names = [], functions = [], levels = {} }) {
  const columns = Object.keys(levels);
  return [...offered("name", names, written), ...offered("function", functions, opened),
    ...offered("expectation", columns.length ? ["E[", "P["] : [], opened), ...offered("column", columns, written),
    ...offered("level", [...new Set(Object.values(levels).flat().map(String))], written)];
}

/** What could be meant by the letters before the caret: beginnings first, then what contains them. */
export function matches(word, known) {
  const low = unquoted(word);
  const starts = known.filter(({ text }) => unquoted(text).startsWith(low));
  const contains = known.filter((one) => !starts.includes(one) && unquoted(one.text).includes(low));
  return [...starts, ...contains].slice(0, SHOWN);
}

/** What is being written before the caret. */
export function unfinished(before) {
  const inQuotes = (before.match(/"/gu)?.length ?? 0) % 2 === 1;
  return ((inQuotes ? QUOTED : WORD).exec(before) ?? [""])[0];
}

/** { node, value, offer }: `offer({ names, functions, levels })` sets what is completed. */
export function queryField(label, { hint, onInput = () => {} } = {}) {
  const [id, listId] = [freshId("query"), freshId("options")];
  let known = [];
  let open = [];
  let active = -1;
  const input = element("input",
    { id, type: "text", class: "code", role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false",
    "aria-controls": listId,
    "aria-describedby": `${id}-hint`, autocomplete: "off", autocapitalize: "off", spellcheck: "false",
      required: true });
  const list = element("ul",
    { id: listId, class: "options", role: "listbox", "aria-label": "Names and functions", hidden: true });
  const before = () => unfinished(input.value.slice(0, input.selectionStart));

  function mark(next) {
    active = next;
    [...list.children].forEach((item, at) => item.setAttribute("aria-selected", String(at === active)));
    if (active < 0) return input.removeAttribute("aria-activedescendant");
    list.children[active].scrollIntoView({ block: "nearest" });
    return input.setAttribute("aria-activedescendant", list.children[active].id);
  }
  function close() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    open = [];
    mark(-1);
  }
  function take(chosen) {
    const caret = input.selectionStart;
    const start = caret - before().length;
    input.setRangeText(chosen.insert, start, caret, "end");
    close();
    onInput();
    input.focus();
  }
  function show(all) {
    const word = before();
    open = word || all ? matches(word, known).filter(({ insert }) => insert !== word) : [];
    if (!open.length) return close();
    list.replaceChildren(...open.map((one) =>
      element("li", { id: freshId("option"), role: "option", "aria-selected": "false",
      on: { mousedown: (event) => { event.preventDefault(); take(one); } } },
        element("bdi", { class: "code" }, one.text), element("span", { class: "hint" }, one.kind))));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    mark(-1);
    return say(counted(open.length, "suggestion"));
  }
  input.addEventListener("input", () => { show(false); onInput(); });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && !open.length) show(true);
    if (step && open.length) mark((active + step + open.length) % open.length);
    else if (["Enter", "Tab"].includes(event.key) && active >= 0) take(open[active]);
    else if (event.key === "Escape" && open.length) close();
    else return;
    event.preventDefault();
  });
  const node = element("div", { class: "field" }, element("label", { for: id }, label),
    element("span", { class: "hint", id: `${id}-hint` }, hint), element("div", { class: "complete" }, input, list));
  return {
    node, input,
    get value() { return input.value.trim(); },
    set value(text) { input.value = visible(text); onInput(); },
    offer: (said) => { known = vocabulary(said); },
  };
}
