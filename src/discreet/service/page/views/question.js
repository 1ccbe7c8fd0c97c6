/** What is asked of a table: its columns, a model and its prior. Shared by planning and by charged queries. */
import { element } from "../base/elements.js";
import { choice, several, slider, text } from "../base/fields.js";
import { quiet } from "../base/blocks.js";
import { spaced } from "../base/words.js";
import { titled } from "./tables.js";

const PLURAL = "Which columns, in this order";

/** A slider for a number of the prior; what is no number is written as JSON. */
function priorField(name, given, onChange) {
  if (typeof given !== "number" || !Number.isFinite(given)) return jsonField(name, given, onChange);
  const log = given > 0;
  const reach = 10 * Math.max(1, Math.abs(given));
  return slider(`Prior ${spaced(name)}`,
    { value: given, least: log ? given / 50 : -reach, most: log ? given * 50 : reach, log, onChange,
    allowed: (x) => (log && x <= 0 ? "It must be above 0." : "") });
}

function jsonField(name, given, onChange) {
  const field = text(`Prior ${spaced(name)}`,
    { value: JSON.stringify(given), class: "code", hint: "A list or number, as JSON." });
  let current = given;
  field.input.addEventListener("change", () => {
    try {
      current = JSON.parse(field.value);
      field.input.removeAttribute("aria-invalid");
      onChange();
    } catch {
      field.input.setAttribute("aria-invalid", "true");
    }
  });
  return { node: field.node, get value() { return current; } };
}

/** Fields for a question about one of the tables; `changed` is called whenever it is another question. */
export function questionFields({ tables, models, wanted = {}, changed }) {
  const start = tables.find(({ name }) => name === wanted.table) ?? tables[0];
  const place = element("div", {});
  const priors = element("div", {});
  const table = choice("Table", tables.map((one) => [one.name, titled(one)]),
    { value: start.name, onChange: (name) => { draw(name); changed(); } });
  let columns;
  let model;
  let prior = [];

  function drawPrior() {
    const row = models.find(({ name }) => name === model.value);
    prior = Object.entries(row?.prior ?? {}).map(([name, given]) => [name, priorField(name, given, changed)]);
    priors.replaceChildren(...prior.map(([, field]) => field.node),
      ...(prior.length ? [] : [quiet("This prior has no numbers to choose.")]));
  }
  function draw(name) {
    const chosen = tables.find((one) => one.name === name);
    const offered = models.filter((one) => chosen.models.includes(one.name));
    columns = several(PLURAL, chosen.columns.map((one) => [one.name, one.name]),
      { chosen: chosen.columns.slice(0, 1).map((one) => one.name), onChange: changed });
    model = choice("Model", offered.map((one) => [one.name, one.title ?? spaced(one.name)]),
      { value: wanted.model, onChange: () => { drawPrior(); changed(); } });
    place.replaceChildren(columns.node, model.node);
    drawPrior();
  }
  draw(start.name);
  return {
    nodes: [table.node, place], prior: priors,
    get mechanisms() { return models.find(({ name }) => name === model.value)?.mechanisms ?? []; },
    get value() {
      return { table: table.value, columns: columns.value, model: model.value,
        prior: Object.fromEntries(prior.map(([name, field]) => [name, field.value])) };
    },
  };
}
