/** The trail: who asked what, when, at which price. */
import { called, calledAll, element } from "../base/elements.js";
import { quiet, table } from "../base/blocks.js";
import { counted, guarantee, moment, spaced, time } from "../base/words.js";
import { get, path } from "../base/service.js";
import { choice, settled, text } from "../base/fields.js";
import { say } from "../base/announce.js";

const SHOWN = 200;
const DAY = 86_400_000;

/** An entry in the words of this view, whichever the service uses. */
const read = (entry) => ({
  at: entry.at ?? entry.created, who: entry.who ?? entry.analyst ?? entry.person ?? "",
    outcome: entry.outcome ?? entry.action ?? "",
  table: entry.table ?? entry.what ?? "", columns: entry.columns ?? [],
    asked: [entry.model, entry.mechanism].filter(Boolean),
  note: entry.note ?? entry.reason ?? "", price: entry.price ?? (entry.epsilon === undefined ? null : entry),
    id: entry.id ?? "",
});

/** Whether an entry passes the filters; `until` is a whole day. */
export function passes(entry, { who, of, outcome, since, until, words }) {
  const at = time(entry.at);
  return (!who || entry.who === who) && (!of || entry.table === of) && (!outcome || entry.outcome === outcome)
    && (!since || at >= time(`${since}T00:00`)) && (!until || at < time(`${until}T00:00`) + DAY)
    && (!words || JSON.stringify(entry).toLocaleLowerCase().includes(words.toLocaleLowerCase()));
}

const columnsOf = ({ columns }) => (Array.isArray(columns) ? calledAll(columns) : [called(columns)]);

const row = (entry) => [moment(entry.at), called(entry.who || "–", 40),
  [called(entry.table || "–", 60), entry.columns.length ? [": ", columnsOf(entry)] : "",
    entry.note ? quiet("Note: ", called(entry.note, 160)) : null],
  entry.asked.map(spaced).join(", ") || "–", spaced(entry.outcome || "–"), guarantee(entry.price)];

const distinct = (entries, name) => [["", "All"],
  ...[...new Set(entries.map((entry) => entry[name]).filter(Boolean))].sort().map((one) => [one, spaced(one)])];

function filtersOf(entries, later) {
  const fields = {
    who: choice("Who", distinct(entries, "who"), { onChange: later }),
    of: choice("Table", distinct(entries, "table"), { onChange: later }),
    outcome: choice("Outcome", distinct(entries, "outcome"), { onChange: later }),
    since: text("From", { type: "date", onInput: later }),
    until: text("To", { type: "date", onInput: later }),
    words: text("Contains", { onInput: later }),
  };
  const value = () => Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value]));
  return { nodes: Object.values(fields).map(({ node }) => node), value };
}

const exported = (format) =>
  element("a", { class: "button", download: `trail.${format}`, href: path("owner", "trail", { format }) },
  `Export all as ${format.toUpperCase()}`);

export async function trail({ signal }) {
  const said = await get("/v1/owner/trail", { signal });
  const entries = (said.trail ?? said.entries).map(read);
  const newest = [...entries].sort((a, b) => time(b.at) - time(a.at));
  const place = element("div", { class: "entries" });
  const filters = filtersOf(entries, settled(() => draw(true), 250));

  function draw(heard) {
    const found = newest.filter((entry) => passes(entry, filters.value()));
    const count = counted(found.length, "entry", "entries");
    place.replaceChildren(
      table(`${count}, newest first`, [["When"], ["Who"], ["What"], ["Model and mechanism"], ["Outcome"], "Price"],
        found.slice(0, SHOWN).map(row), { empty: "Nothing on the trail passes these filters." }),
      ...(found.length > SHOWN ? [quiet(`The newest ${SHOWN} are shown; the export has all.`)] : []));
    if (heard) say(count);
  }
  draw(false);
  const form = element("form", { class: "inline", on: { submit: (event) => event.preventDefault() } }, filters.nodes);
  return { title: "Trail", body: [
    quiet("Nothing private is on it: no values, only who asked what, when, at which price."),
    element("section", { "aria-label": "Filters" }, form,
      element("p", { class: "actions" }, exported("csv"), exported("json"))),
    element("section", { "aria-label": "Entries" }, place),
  ] };
}
