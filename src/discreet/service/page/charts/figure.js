/** A picture with its words: a title and description for those who do not see it, and its numbers as a table. */
import { drawn, element, freshId } from "../base/elements.js";
import { table } from "../base/blocks.js";

const NARROWEST = 240;

/** `draw(width)` returns { height, nodes } at that width in CSS pixels; it is drawn again when the width changes. */
export function figure({ title, description, draw, caption, numbers }) {
  const [titled, described] = [freshId("title"), freshId("description")];
  const picture = drawn("svg",
    { class: "picture", role: "img", "aria-labelledby": titled, "aria-describedby": described, focusable: "false" });
  const head = [drawn("title", { id: titled }, title), drawn("desc", { id: described }, description)];
  const frame = element("div", { class: "frame" }, picture);
  let last = 0;
  const redraw = (width) => {
    last = width;
    const { height, nodes } = draw(width);
    for (const [name, size] of [["viewBox", `0 0 ${width} ${height}`], ["width", width],
      ["height", height]]) picture.setAttribute(name, size);
    picture.replaceChildren(...head, drawn("g", { "aria-hidden": "true" }, nodes));
  };
  new ResizeObserver(([{ contentRect }]) => {
    const width = Math.max(NARROWEST, Math.floor(contentRect.width));
    if (contentRect.width && Math.abs(width - last) > 1) redraw(width);
  }).observe(frame);
  redraw(600);
  const rows = numbers && element("details", {}, element("summary", {}, `Numbers: ${title}`),
    table(title, numbers.columns, numbers.rows));
  return element("figure", {}, frame, element("figcaption", {}, caption ?? description), rows);
}

/** At most so many rows, evenly spread, with the first and the last. */
export function thinned(rows, most = 24) {
  if (rows.length <= most) return rows;
  return Array.from({ length: most }, (_, at) => rows[Math.round((at * (rows.length - 1)) / (most - 1))]);
}
