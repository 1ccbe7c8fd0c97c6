/** One release: what it says, what it promises, and what can be asked of it for free. */
import { called, calledAll, element } from "../base/elements.js";
import { cautions, download, facts, quiet, section, table } from "../base/blocks.js";
import { text } from "../base/fields.js";
import { guarantee, moment, number, spaced } from "../base/words.js";
import { get, path } from "../base/service.js";
import { to } from "../base/router.js";
import { lines, peak } from "../charts/lines.js";
import { privacyCurve, tradeOff } from "../charts/promises.js";
import { freeBox } from "../query/free.js";

const MOST_DENSITIES = 6;

function density({ name, x, y }) {
  return lines({ title: `Posterior of ${name}`,
    description: `The posterior density of ${name}; it is highest near ${number(peak({ x, y }))}.`, shapes: true,
    curves: [{ x, y, kind: "posterior", label: "posterior", filled: true }],
      across: { label: name.length > 30 ? "value" : name }, up: { label: "density" } });
}

const known = (x) => x !== null && x !== undefined;

/** The parameters: of a posterior with their intervals, of released draws what was drawn. */
function summaryOf({ summary = [], reading }) {
  if (reading === "draws") {
    return [quiet("What was released are draws; the posterior behind them stays private."),
      table("Means of the released draws", [["Parameter"], "Mean"],
        summary.map(({ name, mean }) => [called(name), number(mean, 4)]))];
  }
  return table("Posterior means and 90 % intervals", [["Parameter"], "Mean", "Standard deviation", "90 % interval"],
    summary.map(({ name, mean, sd, lower, upper }) => [called(name), number(mean, 4), number(sd),
      known(lower) ? `${number(lower, 4)} to ${number(upper, 4)}` : "–"]));
}

function posterior(one) {
  const shown = (one.densities ?? []).slice(0, MOST_DENSITIES);
  const more = (one.densities?.length ?? 0) - shown.length;
  return section("Posterior", one.reading ? quiet(`Read as: ${spaced(one.reading)}.`) : null, cautions(one.cautions),
    summaryOf(one), shown.map(density), more > 0 ? quiet(`${more} further densities are in the report.`) : null);
}

function promise(one) {
  return section("Promise",
    facts([["Price", guarantee(one.price ?? one)],
    one.scopes?.length ? ["Charged to", calledAll(one.scopes.map((scope) => scope.scope ?? scope))] : null]),
    one.profile?.epsilon?.length ? privacyCurve(one.profile, one) : null,
    one.trade_off?.hits?.length ? tradeOff(one.trade_off) : null,
    element("p", {}, element("a", { href: to("meaning", { epsilon: one.epsilon, delta: one.delta }) },
      "What does this ε mean?")));
}

/** Whether a release can do something; the service may say why not. */
const able = (can) => can === true || can === undefined || (typeof can === "object" && can?.allowed === true);
const whyNot = (can) => (typeof can === "string" ? can : can?.reason
  ?? "What was released are draws, or the model has no law for whole rows.");

function synthetic(one) {
  if (!able(one.can?.synthetic)) return quiet(`No synthetic rows. ${whyNot(one.can?.synthetic)}`);
  const get1000 = element("a",
    { class: "button", download: "synthetic.csv", href: path("releases", one.id, "synthetic", { rows: 1000 }) },
    "Download synthetic rows");
  const rows = text("Rows", { value: "1000", type: "number", min: 1, max: 100000, onInput: () => {
    get1000.setAttribute("href",
      path("releases", one.id, "synthetic",
      { rows: Math.min(100000, Math.max(1, Math.round(Number(rows.value)) || 1000)) }));
  } });
  return [quiet("Drawn from the posterior: free, and as private as the release."),
    element("div", { class: "inline" }, rows.node, element("p", { class: "actions" }, get1000))];
}

function files(one) {
  const at = (what) => path("releases", one.id, what);
  const safe = String(one.id).replace(/[^\w-]/gu, "").slice(0, 40) || "release";
  return section("Files", element("p", { class: "actions" },
    download(at("certificate"), `certificate-${safe}.json`, "Certificate (JSON)"),
    element("a", { class: "button", href: at("report"), target: "_blank", rel: "noopener" }, "Report (new tab)"),
      download(at("inference-data"), `posterior-${safe}.nc`, "InferenceData")),
  quiet("The certificate says what was promised and charged. It holds nothing private, and may be published."));
}

export async function release({ query, signal }) {
  const one = await get(path("releases", query.get("id")), { signal });
  return { title: ["Release from ", called(one.table)], body: [
    section("What was asked",
      facts([["Columns", calledAll(one.columns ?? [])], ["Model", spaced(one.model)],
      ["Mechanism", spaced(one.mechanism ?? "–")],
      ["Released", moment(one.created)], one.analyst ? ["Asked by", called(one.analyst)] : null,
        one.note ? ["Note", called(one.note, 300)] : null, ["Number", called(one.id)]])),
    posterior(one),
    section("Ask this release", able(one.can?.query) ? freeBox(one.id, signal) : quiet(whyNot(one.can?.query))),
    promise(one), section("Synthetic rows", synthetic(one)), files(one)] };
}
