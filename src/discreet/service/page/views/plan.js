/** Planning a release: what it would say and cost, before anything is spent. */
import { called, calledAll, element } from "../base/elements.js";
import { button, cautions, facts, quiet, section } from "../base/blocks.js";
import { choice, deltaSlider, epsilonSlider, settled, text } from "../base/fields.js";
import { downward, guarantee, left, number, spaced, value } from "../base/words.js";
import { ask, freshKey, get, pause, post } from "../base/service.js";
import { confirmed } from "../base/dialog.js";
import { told } from "../base/problem.js";
import { go } from "../base/router.js";
import { say } from "../base/announce.js";
import { mechanisms, picture, refused, without } from "./predicted.js";
import { questionFields } from "./question.js";
import { remainder } from "./remains.js";
import { keepJob } from "./jobs.js";

/**
 * Say the price, and what will remain; only then is it asked for. The key stays the same for as long as the question is
 * open, so that trying again after a lost connection pays once.
 */
function release(request, { row, budgets, scopes, use }) {
  const key = freshKey();
  return confirmed({
    title: "Release this?",
    label: "Release and charge",
    body: [
      facts([["Table", called(request.table)], ["Columns", calledAll(request.columns)],
        ["Model", spaced(request.model)],
        ["Mechanism", spaced(row.name ?? row.mechanism)],
          ["Promised", guarantee({ epsilon: request.epsilon, delta: request.delta })],
        ["Price", element("span", { class: "price" }, guarantee(row.price ?? request))]]),
      element("h3", {}, "What will remain"), remainder(budgets, scopes, request, row.price),
      quiet("A charge is never taken back. If the connection breaks, try again here: the same release is paid once."),
    ],
    act: () => ask("POST", "/v1/releases", { body: request, key }),
    remedy: ({ said: { fits } }, close) => (value(fits?.epsilon) > 0
      ? [button(`Plan with ${left(fits)}`, () => { close(); use(fits); })] : []),
  });
}

function followed(said, { table, columns, model, epsilon, delta }) {
  if (said.job) {
    keepJob({ id: said.job.id, table, columns, model, epsilon, delta });
    return go("job", { id: said.job.id });
  }
  say("Released");
  return go("release", { id: said.release.id });
}

/** The request that a row of the plan stands for. */
function requestFor(asked, row, note) {
  const { mechanism = row.mechanism, ...options } = row.ask ?? {};
  return { ...asked, mechanism, options: Object.keys(options).length ? options : undefined, note: note || undefined };
}

/** The plan's answer: predictions, a choice of mechanism, and the way to release. */
function offer(asked, said, { budgets, scopes, note, use }) {
  const rows = said.rows ?? [];
  if (!rows.length) return [section("Predicted", quiet("No mechanism can do this at this price."),
    refused(said.refused))];
  let chosen = 0;
  const foot = element("div", {});
  const choose = (at) => {
    chosen = at;
    const { price, cautions: own } = rows[at];
    foot.replaceChildren(...[cautions([...(said.cautions ?? []), ...(own ?? [])]),
      element("p", {}, "Price: ", element("span", { class: "price" }, guarantee(price ?? asked))),
      element("h3", {}, "What would remain"), remainder(budgets, scopes, asked, price)].filter(Boolean));
  };
  const spend = async () => {
    const row = rows[chosen];
    const done = await release(requestFor(asked, row, note.value), { row, budgets, scopes, use });
    if (done) followed(done, asked);
  };
  choose(0);
  return [
    section("Predicted", picture(said), mechanisms(rows, chosen, choose), without(said.exact), refused(said.refused)),
    section("Release", foot, note.node,
      element("p", { class: "actions" }, button("Release …", spend, { class: "primary" }))),
  ];
}

/** Ask until the plan is there; `seen` gets how far it is. */
async function planned(asked, signal, seen) {
  for (;;) {
    const said = await post("/v1/plans", asked, { signal });
    if (!said.plan) return said;
    seen(said.plan.progress);
    await pause(250, signal);
  }
}

const farAs = ({ words, done, of }) => `Planning: ${words}${of ? `, ${number(done)} of ${number(of)}` : ""} …`;

function workbench(tables, models, wanted, signal) {
  const result = element("div", { class: "result", "aria-busy": "true" }, quiet("Planning …"));
  const later = settled(() => refresh());
  const question = questionFields({ tables, models, wanted, signal, changed: () => { drawMechanisms(); later(); } });
  const epsilon = epsilonSlider({ onChange: later });
  const delta = deltaSlider({ onChange: later });
  const note = text("Note for the record", { hint: "Others who may see this release will read it.", maxlength: 300 });
  const place = element("div", {});
  let mechanism;
  let asking = new AbortController();
  signal.addEventListener("abort", () => asking.abort(), { once: true });

  const use = (fits) => { epsilon.set(downward(fits.epsilon)); delta.set(downward(fits.delta ?? 0)); };

  function drawMechanisms() {
    const offered = question.mechanisms;
    if (mechanism !== "" && !offered.includes(mechanism)) mechanism = offered[0];
    const options = [...offered.map((name) => [name, spaced(name)]), ["", "Compare all (slower)"]];
    place.replaceChildren(choice("Mechanism", options,
      { value: mechanism, onChange: (name) => { mechanism = name; later(); } }).node);
  }

  async function refresh() {
    asking.abort();
    asking = new AbortController();
    const stop = asking.signal;
    const asked = { ...question.value, epsilon: epsilon.value, delta: delta.value };
    if (question.empty) return result.replaceChildren(quiet("Choose a column."));
    result.setAttribute("aria-busy", "true");
    try {
      const [said, { budgets }] = await Promise.all([
        planned({ ...asked, mechanisms: mechanism ? [mechanism] : undefined }, stop,
          (far) => result.replaceChildren(quiet(farAs(far)))),
        get("/v1/budgets", { signal: stop })]);
      const { scopes } = tables.find(({ name }) => name === asked.table);
      result.replaceChildren(...offer(asked, said, { budgets, scopes, note, use }));
      say(said.rows?.[0]?.width ? `Planned: an interval of width ${number(said.rows[0].width)}` : "Planned");
    } catch (error) {
      if (!stop.aborted) result.replaceChildren(told(error, { again: refresh }));
    } finally {
      if (!stop.aborted) result.removeAttribute("aria-busy");
    }
    return null;
  }

  drawMechanisms();
  refresh();
  const submit = (event) => { event.preventDefault(); refresh(); };
  return [quiet("Planning is free: it looks at no private row."), element("div", { class: "split" },
    element("form", { "aria-label": "Question", on: { submit } }, section("Question", question.nodes, place),
      section("Budget", epsilon.node, delta.node), section("Prior", question.prior)), result)];
}

export async function plan({ query, signal }) {
  const [{ tables }, { models }] = await Promise.all([get("/v1/tables", { signal }), get("/v1/models", { signal })]);
  const offered = tables.filter((one) => one.models.length && one.columns.length);
  const body = offered.length
    ? workbench(offered, models, { table: query.get("table"), model: query.get("model") }, signal)
    : quiet("No table is open to you yet. The owner of this service registers them.");
  return { title: "Plan and release", body };
}
