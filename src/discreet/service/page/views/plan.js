/** Planning a release: what it would say and cost, before anything is spent. */
import { called, calledAll, element } from "../base/elements.js";
import { button, cautions, facts, quiet, section, table } from "../base/blocks.js";
import { choice, deltaSlider, epsilonSlider, settled, text } from "../base/fields.js";
import { guarantee, number, percent, spaced, value } from "../base/words.js";
import { ask, freshKey, get, post } from "../base/service.js";
import { confirmed } from "../base/dialog.js";
import { told } from "../base/problem.js";
import { go } from "../base/router.js";
import { say } from "../base/announce.js";
import { lines, peak } from "../charts/lines.js";
import { questionFields } from "./question.js";
import { remainder } from "./remains.js";
import { keepJob } from "./jobs.js";

function picture({ prior, posterior }) {
  if (!prior && !posterior) return quiet("Several parameters: the table says how wide their intervals would be.");
  const curves = [prior && { ...prior, kind: "prior", label: "prior" },
    posterior && { ...posterior, kind: "posterior", label: "simulated posterior", filled: true }].filter(Boolean);
  const told = curves.map((curve) => `the ${curve.label} is highest near ${number(peak(curve))}`).join(", ");
  return lines({ title: "Before and after",
    description: `Simulated with data that the prior imagines, not yours: ${told}.`, curves, shapes: true,
    across: { label: "parameter" }, up: { label: "density" } });
}

function rows(plans, chosen, choose) {
  return table("What each mechanism would give",
    [["Mechanism"], "Width of a 90 % interval", "Error", "Coverage", "Price"], plans.map((row) => [
    element("label", { class: "tick" },
      element("input", { type: "radio", name: "mechanism", checked: row.mechanism === chosen,
      on: { change: () => choose(row.mechanism) } }), spaced(row.mechanism)),
    number(row.width), number(row.error),
      row.coverage === null || row.coverage === undefined ? "–" : percent(row.coverage), guarantee(row.price)]));
}

/** Say the price, and what will remain; only then is it asked for. The key stays the same for as long as the question does. */
function release(request, row, budgets) {
  const key = freshKey();
  return confirmed({
    title: "Release this?",
    label: "Release and charge",
    body: [
      facts([["Table", called(request.table)], ["Columns", calledAll(request.columns)],
        ["Model", spaced(request.model)], ["Mechanism", spaced(request.mechanism)],
        ["Price", element("span", { class: "price" }, guarantee(row.price ?? request))]]),
      element("h3", {}, "What will remain"), remainder(budgets, request, row),
      quiet("A charge is never taken back. If the connection breaks, try again here: the same release is paid once."),
    ],
    act: () => ask("POST", "/v1/releases", { body: request, key }),
  });
}

function followed(said) {
  const job = said.job ?? (said.status && said.poll ? said : null);
  if (job) {
    keepJob(job.id);
    return go("job", { id: job.id });
  }
  say("Released");
  return go("release", { id: (said.release ?? said).id });
}

export async function plan({ query, signal }) {
  const [{ tables }, { models }] = await Promise.all([get("/v1/tables", { signal }), get("/v1/models", { signal })]);
  const offered = tables.filter((one) => one.models.length && one.columns.length);
  if (!offered.length) return { title: "Plan and release",
    body: quiet("No table is open to you yet. The owner of this service registers them.") };
  return { title: "Plan and release",
    body: workbench(offered, models, { table: query.get("table"), model: query.get("model") }, signal) };
}

function workbench(tables, models, wanted, signal) {
  const result = element("div", { class: "result" });
  const later = settled(() => refresh());
  const question = questionFields({ tables, models, wanted, changed: () => { drawMechanisms(); later(); } });
  const epsilon = epsilonSlider({ onChange: later });
  const delta = deltaSlider({ onChange: later });
  const note = text("Note for the record", { hint: "Others who may see this release will read it.", maxlength: 300 });
  const mechanisms = element("div", {});
  let mechanism = "";
  let asking = new AbortController();

  function drawMechanisms() {
    if (!question.mechanisms.includes(mechanism)) mechanism = "";
    const field = choice("Mechanism",
      [["", "Compare all"], ...question.mechanisms.map((name) => [name, spaced(name)])],
      { value: mechanism, onChange: (name) => { mechanism = name; later(); } });
    mechanisms.replaceChildren(field.node);
  }
  const request = () => ({ ...question.value, epsilon: epsilon.value, delta: delta.value });

  async function refresh() {
    asking.abort();
    asking = new AbortController();
    const stop = asking.signal;
    signal.addEventListener("abort", () => asking.abort(), { once: true });
    if (!question.value.columns.length) return result.replaceChildren(quiet("Choose a column."));
    result.setAttribute("aria-busy", "true");
    try {
      const asked = request();
      const [said, { budgets }] = await Promise.all([post("/v1/plans",
        { ...asked, mechanisms: mechanism ? [mechanism] : undefined }, { signal: stop }),
        get("/v1/budgets", { signal: stop })]);
      showPlan(asked, said, budgets);
    } catch (error) {
      if (!stop.aborted) result.replaceChildren(told(error, { again: refresh }));
    } finally {
      if (!stop.aborted) result.removeAttribute("aria-busy");
    }
    return null;
  }

  function showPlan(asked, said, budgets) {
    const plans = said.rows ?? [];
    const best = plans.find((row) => row.mechanism === mechanism) ?? plans.find((row) => row.price !== null)
      ?? plans[0];
    if (!best) return result.replaceChildren(quiet("Nothing can be planned for this question."));
    let chosen = best;
    const foot = element("div", {});
    const choose = (name) => {
      chosen = plans.find((row) => row.mechanism === name);
      foot.replaceChildren(...[cautions(chosen.cautions),
        element("p", {}, "Price: ", element("span", { class: "price" }, guarantee(chosen.price ?? asked))),
        element("h3", {}, "What would remain"), remainder(budgets, asked, chosen)].filter(Boolean));
    };
    choose(best.mechanism);
    const spend = async () => {
      const done = await release({ ...asked, mechanism: chosen.mechanism, note: note.value || undefined }, chosen,
        budgets);
      if (done) followed(done);
    };
    result.replaceChildren(section("Predicted", picture(said), rows(plans, best.mechanism, choose)),
      section("Release", foot, note.node,
        element("p", { class: "actions" }, button("Release …", spend, { class: "primary" }))));
    const width = value(best.width);
    return say(Number.isFinite(width) ? `Planned: an interval of width ${number(width)}` : "Planned");
  }

  drawMechanisms();
  refresh();
  return [quiet("Planning is free: it looks at no private row."), element("div", { class: "split" },
    element("form", { "aria-label": "Question", on: { submit: (event) => { event.preventDefault(); refresh(); } } },
      section("Question", question.nodes, mechanisms), section("Budget", epsilon.node, delta.node),
        section("Prior", question.prior)), result)];
}
