/** What is asked of a table: its columns, a model and its prior. Shared by planning and by charged queries. */
import { element } from "../base/elements.js";
import { choice, several, slider, text } from "../base/fields.js";
import { quiet } from "../base/blocks.js";
import { get, path } from "../base/service.js";
import { asProblem } from "../base/problem.js";
import { sentence, spaced } from "../base/words.js";
import { titled } from "./tables.js";

// What a column of a kind is usually asked with, for a start
const USUAL = { binary: "beta_bernoulli", categories: "dirichlet_categorical", count: "gamma_poisson",
  bounded: "normal_inverse_gamma" };

// How finely records are written, which is no belief about them
const NOT_PRIOR = new Set(["grid"]);

/** A slider for a number of the prior; what is no number is written as JSON. */
function priorField(name, given, onChange) {
  if (typeof given !== "number" || !Number.isFinite(given)) return jsonField(name, given, onChange);
  const log = given > 0;
  const reach = 10 * Math.max(1, Math.abs(given));
  return slider(`Prior ${spaced(name)}`, {
    value: given, least: log ? given / 50 : -reach, most: log ? given * 50 : reach, log, onChange,
    allowed: (x) => (log && x <= 0 ? "It must be above 0." : ""),
  });
}

function jsonField(name, given, onChange) {
  const field = text(`Prior ${spaced(name)}`, { value: JSON.stringify(given), class: "code", hint: "As JSON." });
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

/** The parameters of the prior that is used where none is given; what the model does not take is left out. */
async function ofFamily({ table, columns, model }, row, signal) {
  const said = await get(path("models", model, "prior", { table, columns }), { signal });
  const taken = new Set(row.parameters.map(({ name }) => name));
  return Object.entries(said).filter(([name]) => taken.has(name) && !NOT_PRIOR.has(name));
}

/** Models that name their columns themselves: what is predicted first, then the rest, as a start to change. */
function ofColumns({ columns: [first, ...rest], model }, row) {
  const whole = model === "mixture" ? [first, ...rest] : rest;
  const named = { label: first, target: first, chain: first, step: rest[0], graph: rest.map((other) => [first, other]),
    features: model === "hidden_markov" ? rest.slice(1) : whole };
  return Object.entries(row.prior).filter(([name]) => name !== "loss").map(([name, example]) =>
    [name, named[name] ?? example]);
}

const isFamily = (row) => row.kind === "family";

/** Fields for the prior of what is asked: drawn anew with another question. Of a family only what was moved is sent. */
function priorFields(models, changed, signal) {
  const node = element("div", {});
  let fields = [];
  let of = "";
  let family = true;
  async function draw(asked) {
    const row = models.find(({ name }) => name === asked.model);
    const mine = JSON.stringify(asked);
    if (!row || mine === of) return;
    [of, fields, family] = [mine, [], isFamily(row)];
    try {
      const given = family ? await ofFamily(asked, row, signal) : ofColumns(asked, row);
      if (of !== mine) return;
      fields = given.map(([name, start]) => ({ name, start, field: priorField(name, start, changed) }));
      node.replaceChildren(...fields.map(({ field }) => field.node),
        ...(fields.length ? [] : [quiet("Nothing to choose.")]));
    } catch (error) {
      const problem = asProblem(error);
      if (of === mine && !signal.aborted) node.replaceChildren(quiet(sentence(problem.detail || problem.message)));
    }
  }
  const sent = ({ start, field }) => !family || JSON.stringify(field.value) !== JSON.stringify(start);
  return { node, draw, get value() { return Object.fromEntries(fields.filter(sent).map(({ name, field }) =>
    [name, field.value])); } };
}

/** Fields for a question about one of the tables; `changed` is called whenever it is another question. */
export function questionFields({ tables, models, wanted = {}, changed, signal }) {
  const start = tables.find(({ name }) => name === wanted.table) ?? tables[0];
  const place = element("div", {});
  const prior = priorFields(models, () => changed(), signal);
  const table = choice("Table", tables.map((one) => [one.name, titled(one)]),
    { value: start.name, onChange: (name) => { draw(name); other(); } });
  let columns;
  let model;
  const asked = () => ({ table: table.value, columns: columns.value, model: model.value });
  const other = () => { prior.draw(asked()); changed(); };

  function draw(name) {
    const chosen = tables.find((one) => one.name === name);
    const offered = models.filter((one) => chosen.models.includes(one.name));
    const [first] = chosen.columns;
    const usual = offered.find((one) => one.name === (wanted.model ?? USUAL[first.kind])) ?? offered[0];
    columns = several("Columns", chosen.columns.map((one) => [one.name, one.name]),
      { chosen: [first.name], onChange: other });
    model = choice("Model", offered.map((one) => [one.name, one.title ?? spaced(one.name)]),
      { value: usual?.name, onChange: other });
    place.replaceChildren(columns.node, model.node);
  }
  draw(start.name);
  prior.draw(asked());
  return {
    nodes: [table.node, place],
    prior: prior.node,
    get mechanisms() { return models.find(({ name }) => name === model.value)?.mechanisms ?? []; },
    /** What is chosen; a model that names its columns itself has them in its prior. */
    get value() {
      const row = models.find(({ name }) => name === model.value);
      return { ...asked(), columns: row && !isFamily(row) ? [] : columns.value, prior: prior.value };
    },
    get empty() { return !columns.value.length; },
  };
}
