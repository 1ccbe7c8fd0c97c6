/** The tables that may be asked, and one of them with rows that mean nothing. */
import { called, element } from "../base/elements.js";
import { button, facts, link, names, quiet, section, table as drawTable } from "../base/blocks.js";
import { number, spaced, whole } from "../base/words.js";
import { Problem, told } from "../base/problem.js";
import { get, path } from "../base/service.js";
import { to } from "../base/router.js";
import { say } from "../base/announce.js";

const LEVELS = 12;

export const titled = ({ label, name }) => label || name;

/** What a column may hold, as it was declared. */
export function range({ lower, upper, levels }) {
  const more = (levels?.length ?? 0) - LEVELS;
  if (levels?.length) return [names(levels.slice(0, LEVELS)), more > 0 ? ` and ${more} more` : ""];
  if (lower === null || lower === undefined) return "–";
  return `${number(lower, 6)} to ${number(upper, 6)}`;
}

/** What becomes of values that are unknown, or out of range. */
function notes({ unknown, clips }) {
  if (unknown !== null && unknown !== undefined && unknown !== false) return ["unknown counts as ",
    called(unknown, 40)];
  return clips ? "clipped to this range" : "–";
}

const protects = ({ unit, rows_per_unit: rows }) => (unit
  ? ["one ", called(unit), rows > 1 ? `, with up to ${whole(rows)} rows` : ""] : ["one row"]);

export async function tables({ signal }) {
  const { tables: all } = await get("/v1/tables", { signal });
  const cards = all.map((one) => element("li", {},
    element("h2", {}, link(to("table", { name: one.name }), called(titled(one)))),
    element("p", {}, one.n === null || one.n === undefined ? "A private number of rows" : `${whole(one.n)} rows`,
      `, ${one.columns.length} columns. Protects `, protects(one), "."),
    quiet("Models: ", one.models.length ? one.models.map(spaced).join(", ") : "none")));
  return { title: "Tables", body: all.length ? [element("ul", { class: "cards" }, cards)]
    : [quiet("No table is open to you yet. The owner of this service registers them.")] };
}

export async function find(name, signal) {
  const { tables: all } = await get("/v1/tables", { signal });
  const found = all.find((one) => one.name === name);
  if (!found) throw new Problem(404);
  return found;
}

function dummyRows(name, signal) {
  const place = element("div", { class: "dummy" });
  let seed = 0;
  const load = async () => {
    try {
      const { columns, rows } = await get(path("tables", name, "dummy", { rows: 10, seed }), { signal });
      const heads = columns.map((column) => [called(column?.name ?? column, 40)]);
      place.replaceChildren(drawTable("Dummy rows", heads,
        rows.map((row) => row.map((cell) => (cell === null ? "unknown" : called(cell, 40))), { stacked: false })));
      if (seed) say("Other dummy rows are shown");
    } catch (error) {
      if (error.name !== "AbortError") place.replaceChildren(told(error, { again: load }));
    }
  };
  const other = button("Draw others", () => { seed += 1; load(); });
  const file = element("a",
    { class: "button", href: path("tables", name, "dummy", { rows: 1000 }), download: "dummy-rows.json" },
    "Download 1000 as JSON");
  load();
  return section("Dummy rows",
    quiet("Drawn from the public schema alone, to try code on. They say nothing about the table, and cost nothing."),
    place, element("p", { class: "actions" }, other, file));
}

export async function table({ query, signal }) {
  const one = await find(query.get("name"), signal);
  const columns = one.columns.map((column) => [called(column.name), spaced(column.kind), range(column),
    notes(column)]);
  return {
    title: called(titled(one)),
    body: [
      section("What it is", facts([["Name", called(one.name)],
        ["Rows", one.n === null || one.n === undefined ? "private" : whole(one.n)], ["Protects", protects(one)],
        ["Neighbours", spaced(one.relation?.words ?? one.relation ?? "–")],
          ["Models", one.models.map(spaced).join(", ") || "none"],
        ["Charged to", names((one.scopes ?? []).map((scope) => scope.scope ?? scope))]]),
      element("p", { class: "actions" },
        element("a", { class: "button primary", href: to("plan", { table: one.name }) }, "Plan a release"),
        element("a", { class: "button", href: to("ask", { table: one.name }) }, "Ask a question"))),
      section("Columns", drawTable("Public schema", [["Column"], ["Kind"], ["May hold"], ["Notes"]], columns)),
      dummyRows(one.name, signal),
    ],
  };
}
