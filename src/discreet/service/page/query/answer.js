/** An answer of the service, whatever its shape: a number, a chance, named numbers, or a table of them. */
import { called, element } from "../base/elements.js";
import { facts, quiet, table } from "../base/blocks.js";
import { guarantee, number, spaced, value } from "../base/words.js";

const plain = (said) => (typeof said === "number" || /^-?[\d.]+(e[-+]?\d+)?$/iu.test(String(said)) ? number(said, 6)
  : null);

function parts(said) {
  if (typeof said === "boolean") return [element("p", { class: "answer" }, said ? "true" : "false")];
  if (Array.isArray(said)) return [element("p", { class: "answer" },
    said.map((one) => plain(one) ?? JSON.stringify(one)).join(", "))];
  if (said === null || typeof said !== "object") return [element("p", { class: "answer" },
    plain(said) ?? String(said))];
  const main = said.value ?? said.mean ?? said.probability;
  const rest = Object.entries(said).filter(([, one]) => one !== main && one !== null);
  const rows = rest.filter(([, one]) => Array.isArray(one));
  return [main === undefined ? null : element("p", { class: "answer" }, plain(main) ?? JSON.stringify(main)),
    facts(rest.filter(([, one]) => typeof one !== "object").map(([name, one]) =>
      [spaced(name), plain(one) ?? called(one)])),
    rows.length ? table("Parts of the answer", [["Part"], ["Values"]],
      rows.map(([name, some]) =>
      [spaced(name), some.slice(0, 40).map((one) => plain(one) ?? JSON.stringify(one)).join(", ")])) : null];
}

const free = (price) => price === 0 || price === "0"
  || (typeof price === "object" && value(price?.epsilon ?? 0) === 0 && value(price?.delta ?? 0) === 0);

/** The answer with what it was an answer to, and what it was charged. */
export function answered(query, said) {
  return element("div", { class: "good" }, element("p", { class: "mono" }, called(query, 300)),
    parts(said.answer).filter(Boolean),
    said.words ? element("p", {}, [said.words].flat().join(" ")) : null,
    quiet(free(said.price) ? "Free: it reads a release that is already paid for."
      : `Charged: ${guarantee(said.price)}. One draw from the posterior: asked again, it comes out differently and is charged again.`),
    said.receipt ? quiet("Receipt: ",
      called(typeof said.receipt === "object" ? said.receipt.charge_id ?? said.receipt.id
      ?? JSON.stringify(said.receipt) : said.receipt, 80)) : null);
}
