/** Tables that are registered: where the rows live, and all that is public of them. */
import { called, element } from "../base/elements.js";
import { button, facts, names, quiet, section } from "../base/blocks.js";
import { spaced, whole } from "../base/words.js";
import { get, post } from "../base/service.js";
import { choice, several, text } from "../base/fields.js";
import { Problem } from "../base/problem.js";
import { titled } from "../views/tables.js";
import { changed, listed, living } from "./change.js";

const EXAMPLE = `{
  "columns": {
    "smoker": {"kind": "binary"},
    "age": {"kind": "bounded", "lower": 0, "upper": 100}
  }
}`;

function schemaOf(field) {
  try {
    return JSON.parse(field.value);
  } catch (error) {
    throw new Problem(422, { detail: `The schema is not valid JSON: ${error.message}`,
      next: "Correct it; discreet schema writes one for a file." });
  }
}

const wholeOf = (field) => (field.value === "" ? undefined : Number(field.value));

function register(again) {
  const name = text("Name", { required: true, maxlength: 100, hint: "Letters, digits and . _ @ + -" });
  const label = text("Title", { maxlength: 200 });
  const address = text("Where the rows live",
    { required: true, class: "code", hint: "A file on the server, or the URL of a database." });
  const schema = text("Public schema",
    { type: "area", value: EXAMPLE, required: true, class: "code", rows: 8,
    hint: "JSON. Bounds and levels must be public knowledge, not read from the rows." });
  const n = text("Number of rows", { type: "number", min: 1, hint: "Where it is public." });
  const unit = text("Column that identifies a person", { hint: "Empty where every row is another person." });
  const rows = text("Most rows of one person", { type: "number", min: 1 });
  const relation = choice("What is hidden",
    [["substitute", "One record replaced: the number of rows is public"],
    ["add_remove", "One record more or less: the number of rows is private"]]);
  const models = text("Models that may be asked", { hint: "Names with commas between; empty for all." });
  const requires = several("Budgets that every charge must find",
    [["table", "the table's"], ["analyst", "the analyst's"], ["group", "a group's"]], { chosen: ["table", "analyst"] });
  const body = () => ({ name: name.value, label: label.value, address: address.value, schema: schemaOf(schema),
    n: wholeOf(n), unit: unit.value || undefined,
    rows_per_unit: wholeOf(rows), relation: relation.value, models: listed(models),
    requires: requires.value });
  return changed({ title: "Register a table", label: "Register",
    fields: [name, label, address, schema, n, unit, rows, relation, models, requires], said: "Registered", again,
    act: () => post("/v1/owner/tables", body()) });
}

const block = (one) => section(called(titled(one)),
  facts([["Name", called(one.name)], ["Rows live in", called(one.address ?? one.source ?? "–", 300)],
  ["Rows", one.n === null || one.n === undefined ? "private" : whole(one.n)],
    ["Protects", one.unit ? called(one.unit) : "one row"],
  ["Columns", names((one.columns ?? Object.keys(one.schema?.columns ?? {})).map((column) => column.name ?? column))],
  ["Models", (one.models ?? []).map(spaced).join(", ") || "all"],
    ["Required budgets", names((one.requires ?? one.scopes ?? []).map((scope) => scope.scope ?? scope))]]));

export async function registered({ signal }) {
  const load = async (again) => {
    const { tables: all } = await get("/v1/owner/tables", { signal });
    return [element("p", { class: "actions" },
      button("Register a table …", () => register(again), { class: "primary" })),
      all.length ? all.map(block) : quiet("No table is registered yet.")];
  };
  return { title: "Registered tables", body: await living(load, signal) };
}
