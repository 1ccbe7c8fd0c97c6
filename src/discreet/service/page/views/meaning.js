/** What ε means here: odds in words, what a test can reach, and how many queries tell two tables apart. */
import { element } from "../base/elements.js";
import { quiet, section, table } from "../base/blocks.js";
import { atMost, counted, number, percent, sentence, value, whole } from "../base/words.js";
import { deltaSlider, epsilonSlider, settled, slider } from "../base/fields.js";
import { get, path } from "../base/service.js";
import { told } from "../base/problem.js";
import { lines } from "../charts/lines.js";
import { tradeOff } from "../charts/promises.js";

/** Chances as counts of people, which most read better than shares; "1 in N" is rounded to the larger chance. */
function chance(x, upward = false) {
  const p = value(x);
  if (!(p > 0 && p < 1)) return percent(p);
  if (p >= 0.0999) return `${upward ? atMost(100 * p, 3) : number(100 * p, 3)} in 100`;
  return `1 in ${upward ? whole(Math.floor(1 / p + 1e-9)) : whole(1 / p)}`;
}

function oddsTable(odds) {
  const spoken = odds.some(({ words }) => words);
  const rows = odds.map(({ prior, after, words }) => [chance(prior), chance(after, true), ...(spoken ? [words] : [])]);
  return table("What somebody could come to believe about one person",
    [["Before the release"], "After it, at most", ...(spoken ? [["In words"]] : [])], rows);
}

const paragraphs = (words) => [words ?? []].flat().map((one) => element("p", {}, sentence(one)));

/** A place that is filled again whenever the sliders rest. */
function asked(sliders, load, signal) {
  const place = element("div", { "aria-live": "off" });
  const fill = async () => {
    place.setAttribute("aria-busy", "true");
    try {
      place.replaceChildren(...(await load()).flat(Infinity).filter(Boolean));
    } catch (error) {
      if (!signal.aborted) place.replaceChildren(told(error, { again: fill }));
    } finally {
      place.removeAttribute("aria-busy");
    }
  };
  const later = settled(fill);
  return { place, fill, later };
}

function odds(query, signal) {
  const later = () => view.later();
  const epsilon = epsilonSlider({ value: Number(query.get("epsilon")) || 0.5, onChange: later });
  const delta = deltaSlider({ value: query.has("delta") ? Number(query.get("delta")) : 1e-6, onChange: later });
  const view = asked([epsilon, delta], async () => {
    const said = await get(path("meaning", { epsilon: epsilon.value, delta: delta.value }), { signal });
    return [paragraphs(said.words), said.odds ? oddsTable(said.odds) : null,
      said.trade_off ? tradeOff(said.trade_off) : null];
  }, signal);
  view.fill();
  return section("Odds", element("div", { class: "inline" }, epsilon.node, delta.node), view.place);
}

function distinguishability(signal) {
  const later = () => view.later();
  const lipschitz = slider("Lipschitz constant L",
    { value: 1, least: 0.01, most: 100, log: true, hint: "How fast the log-likelihood can change with the data.",
    allowed: (x) => (x > 0 ? "" : "It must be above 0."), onChange: later });
  const probability = slider("Chance that the attacker errs",
    { value: 0.05, least: 0.001, most: 0.5, log: true, hint: "Smaller asks for more certainty of the attacker.",
    allowed: (x) => (x > 0 && x < 1 ? "" : "It must be between 0 and 1."), onChange: later });
  const view = asked([lipschitz, probability], async () => {
    const said = await get(path("distinguishability", { lipschitz: lipschitz.value, probability: probability.value }),
      { signal });
    const last = said.queries.length - 1;
    const few = `After ${counted(said.queries[0], "query", "queries")} tables nearer than ${number(said.distance[0])}`;
    const many = `after ${whole(said.queries[last])} those nearer than ${number(said.distance[last])}`;
    return [lines({ title: "Queries against what can be told",
      description: `${few} cannot be told apart by comparing frequencies; ${many}.`,
      across: { label: "queries answered by fresh draws", log: true }, up: { label: "distance", log: true },
      curves: [{ x: said.queries, y: said.distance, kind: "posterior", label: "cannot be told below" }] }),
    element("details", {}, element("summary", {}, "In words"), paragraphs(said.words))];
  }, signal);
  view.fill();
  return section("Queries against what can be told",
    quiet("For answers that are fresh draws from the posterior, under privacy that depends on the distance of two tables."),
    element("div", { class: "inline" }, lipschitz.node, probability.node), view.place);
}

export async function meaning({ query, signal }) {
  return { title: "What ε means here", body: [
    element("p", { class: "lead" },
      "Whatever somebody believes about one person, and whatever else they know: a release moves their belief by "
        + "no more than this, but for the small chance that comes with δ."),
    odds(query, signal), distinguishability(signal)] };
}
