/** The trail: who asked what, when, at which price. */
import { called, element } from "../base/elements.js";
import { quiet, table } from "../base/blocks.js";
import { counted, guarantee, moment, spaced } from "../base/words.js";
import { get, path } from "../base/service.js";
import { choice, settled, text } from "../base/fields.js";
import { say } from "../base/announce.js";

const SHOWN = 200;
const KNOWN = new Set(["at", "who", "action", "what", "price", "outcome", "id"]);

const when = ({ at, created }) => at ?? created;
const seconds = (entry) => new Date(typeof when(entry) === "number" ? when(entry) * 1000 : when(entry)).getTime();

/** Whether an entry passes the filters; `until` is a whole day. */
export function passes(entry, { who, action, since, until, words }) {
  const at = seconds(entry);
  return (!who || entry.who === who) && (!action || entry.action === action)
    && (!since || at >= new Date(`${since}T00:00`).getTime())
    && (!until || at < new Date(`${until}T00:00`).getTime() + 86_400_000)
      && (!words || JSON.stringify(entry).toLocaleLowerCase().includes(words.toLocaleLowerCase()));
}

const plain = (said) => (said !== null && typeof said === "object" ? JSON.stringify(said) : String(said));
const more = (entry) => Object.entries(entry).filter(([name, said]) =>
  !KNOWN.has(name) && said !== null && said !== "" && typeof said !== "object").map(([name, said]) =>
  `${spaced(name)}: ${said}`);
const what = (entry) => called([entry.what === undefined || entry.what === null ? null : plain(entry.what),
  ...more(entry)].filter(Boolean).join("; ") || "–", 160);

const distinct = (entries, name) =>
  [["", "All"], ...[...new Set(entries.map((entry) => entry[name]).filter(Boolean))].sort().map((one) =>
  [one, spaced(one)])];

export async function trail({ signal }) {
  const { entries } = await get("/v1/owner/trail", { signal });
  const newest = [...entries].sort((a, b) => seconds(b) - seconds(a));
  const place = element("div", { class: "entries" });
  const files = element("p", { class: "actions" });
  const later = settled(() => draw(true), 250);
  const who = choice("Who", distinct(entries, "who"), { onChange: later });
  const action = choice("Action", distinct(entries, "action"), { onChange: later });
  const since = text("From", { type: "date", onInput: later });
  const until = text("To", { type: "date", onInput: later });
  const words = text("Contains", { onInput: later });
  const chosen = () => ({ who: who.value, action: action.value, since: since.value, until: until.value,
    words: words.value });

  function draw(heard) {
    const found = newest.filter((entry) => passes(entry, chosen()));
    const rows = found.slice(0,
      SHOWN).map((entry) => [moment(when(entry)), called(entry.who ?? "–", 40), spaced(entry.action ?? "–"),
      what(entry), entry.outcome ? spaced(entry.outcome) : "–", entry.price ? guarantee(entry.price) : "–"]);
    place.replaceChildren(table(`${counted(found.length, "entry", "entries")}, newest first`,
      [["When"], ["Who"], ["Action"], ["What"], ["Outcome"], "Price"], rows,
      { empty: "Nothing on the trail passes these filters." }),
      ...(found.length > SHOWN ? [quiet(`The newest ${SHOWN} are shown; the export has all.`)] : []));
    const asked = { who: who.value, action: action.value, since: since.value, until: until.value };
    files.replaceChildren(...["csv",
      "json"].map((format) => element("a",
      { class: "button", download: `trail.${format}`, href: path("owner", "trail", { ...asked, format }) },
      `Export as ${format.toUpperCase()}`)));
    if (heard) say(counted(found.length, "entry", "entries"));
  }
  draw(false);
  return { title: "Trail", body: [quiet("Nothing private is on it: no values, only who asked what, when, at which price."),
    element("section", { "aria-label": "Filters" },
      element("form", { class: "inline", on: { submit: (event) => event.preventDefault() } }, who.node, action.node,
      since.node, until.node, words.node), files),
    element("section", { "aria-label": "Entries" }, place)] };
}
