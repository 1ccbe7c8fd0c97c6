/** The blocks that views are built of. */
import { called, element, freshId } from "./elements.js";
import { sentence } from "./words.js";

export const section = (title, ...children) => {
  const id = freshId("part");
  return element("section", { "aria-labelledby": id }, element("h2", { id }, title), children);
};

export const quiet = (...children) => element("p", { class: "quiet" }, children);
export const link = (href, ...children) => element("a", { href }, children);
export const button = (label, act, attributes = {}) =>
  element("button", { type: "button", ...attributes, on: { click: act } }, label);

/** Terms and what they are. */
export const facts = (pairs) =>
  element("dl", { class: "facts" }, pairs.filter(Boolean).map(([term, ...what]) => element("div", {},
  element("dt", {}, term), element("dd", {}, what))));

const watched = new ResizeObserver((entries) => entries.forEach(({ target }) => {
  // What scrolls must be reached by keyboard; what does not scroll is no stop on the way
  if (target.scrollWidth > target.clientWidth + 1) target.tabIndex = 0;
  else target.removeAttribute("tabindex");
}));

/** A box that scrolls sideways where its content is wider than the page. */
export function scroll(label, content) {
  const box = element("div", { class: "scroll", role: "group", "aria-label": label }, content);
  watched.observe(box);
  return box;
}

const STACKED_FROM = 4;

function cell(content, at, heading, kind) {
  const shown = content === null || content === undefined ? "–" : content;
  return at === 0 ? element("th", { scope: "row", role: "rowheader", class: kind }, shown)
    : element("td", { role: "cell", class: kind, "data-label": heading }, element("div", {}, shown));
}

/**
 * A table: `columns` are headings, or [heading] for words rather than numbers; the first cell names its row. On a phone
 * a table of many columns becomes a list of cards; its roles stand in the markup, since that layout would drop them.
 */
export function table(caption, columns, rows,
  { empty = "Nothing here yet.", stacked = columns.length >= STACKED_FROM } = {}) {
  if (!rows.length) return quiet(empty);
  const kinds = columns.map((column) => (Array.isArray(column) ? "text" : null));
  const words = columns.map((column) => [column].flat()[0]);
  const heads = words.map((word, at) => element("th", { scope: "col", role: "columnheader", class: kinds[at] }, word));
  const labels = words.map((word) => (word instanceof Node ? word.textContent : word));
  const lines = rows.map((row) =>
    element("tr", { role: "row" }, row.map((content, at) => cell(content, at, labels[at], kinds[at]))));
  return scroll(caption, element("table", { role: "table", class: stacked ? "stacked" : null },
    element("caption", {}, caption),
    element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, heads)),
      element("tbody", { role: "rowgroup" }, lines)));
}

/** A list of cautions, or nothing. */
export const cautions = (list) => (list?.length
  ? element("div", { class: "caution" }, list.length === 1 ? element("p", {}, sentence(list[0]))
    : element("ul", {}, list.map((one) => element("li", {}, sentence(one))))) : null);

export const names = (list) => (list?.length ? list.map((one, at) => [at ? ", " : "", called(one)]) : "none");

/** A button that puts a text on the clipboard. */
export function copyButton(text, label = "Copy") {
  const act = async () => {
    try {
      await navigator.clipboard.writeText(text);
      made.textContent = "Copied";
    } catch {
      made.textContent = "Select the text and copy it by hand";
    }
  };
  const made = button(label, act, { "aria-live": "polite" });
  return made;
}

/** A link that hands over a file of the service. */
export const download = (href, name, label) => element("a", { href, download: name, class: "button" }, label);
