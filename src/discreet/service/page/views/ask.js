/** The query box: free from a release, or charged by a fresh draw, with its price beside it. */
import { called, element } from "../base/elements.js";
import { facts, link, quiet, section } from "../base/blocks.js";
import { choice, deltaSlider, epsilonSlider, settled } from "../base/fields.js";
import { guarantee, moment, spaced } from "../base/words.js";
import { ask as request, freshKey, get, path } from "../base/service.js";
import { confirmed } from "../base/dialog.js";
import { to } from "../base/router.js";
import { say } from "../base/announce.js";
import { queryField } from "../query/complete.js";
import { answered } from "../query/answer.js";
import { GRAMMAR, freeBox } from "../query/free.js";
import { questionFields } from "./question.js";
import { remainder } from "./remains.js";

function freePart(releases, signal) {
  if (!releases.length) return section("Free, from a release",
    quiet("You have no release yet. ", link(to("plan"), "Plan one"), ", and ask it as often as you like."));
  const place = element("div", {});
  const shown = (one) => `${moment(one.created)}, ${one.table}, ${spaced(one.model)}`;
  const draw = (id) => place.replaceChildren(freeBox(id, signal));
  const pick = choice("Release", releases.map((one) => [one.id, shown(one)]), { onChange: draw });
  draw(releases[0].id);
  return section("Free, from a release", pick.node, place);
}

function chargedPart({ tables, models, budgets }, wanted, signal) {
  const answers = element("div", { class: "answers" });
  const price = element("span", { class: "price" });
  const known = settled(() => complete(), 250);
  const question = questionFields({ tables, models, wanted: { table: wanted }, changed: known });
  const showPrice = () => { price.textContent = `Price: ${guarantee({ epsilon: epsilon.value, delta: delta.value })}`; };
  const epsilon = epsilonSlider({ value: 0.1, onChange: () => showPrice() });
  const delta = deltaSlider({ value: 0, onChange: () => showPrice() });
  const field = queryField("Query", { hint: GRAMMAR });

  async function complete() {
    const { table, columns, model } = question.value;
    try {
      field.offer(await get(path("queries", "names", { table, columns, model }), { signal }));
    } catch {
      field.offer({});
    }
  }
  async function submit(event) {
    event.preventDefault();
    if (!field.value) return field.input.focus();
    const [key, body] = [freshKey(),
      { query: field.value, ...question.value, epsilon: epsilon.value, delta: delta.value }];
    const said = await confirmed({ title: "Ask and charge?", label: "Ask and charge", body: [
      facts([["Query", called(body.query, 300)], ["Table", called(body.table)], ["Model", spaced(body.model)],
        ["Price", element("span", { class: "price" }, guarantee(body))]]),
      element("h3", {}, "What will remain"), remainder(budgets, body, null),
        quiet("The answer is one draw from the posterior. A charge is never taken back.")],
    act: () => request("POST", "/v1/queries", { body, key }) });
    if (!said) return null;
    answers.prepend(answered(body.query, said));
    budgets = (await get("/v1/budgets", { signal })).budgets;
    return say("Answered");
  }
  showPrice();
  complete();
  return section("Charged, by a fresh draw",
    quiet("Every answer is a new draw from the posterior and pays for itself."),
    element("form", { novalidate: true, "aria-label": "Charged question", on: { submit } }, question.nodes,
      element("details", {}, element("summary", {}, "Prior"), question.prior),
      element("div", { class: "inline" }, epsilon.node, delta.node), field.node,
      element("p", { class: "actions" }, element("button", { type: "submit", class: "primary" }, "Ask …"), price)),
        answers);
}

export async function ask({ query, signal }) {
  const [{ releases }, { tables }, { models },
    { budgets }] = await Promise.all(["/v1/releases", "/v1/tables", "/v1/models",
    "/v1/budgets"].map((where) => get(where, { signal })));
  const usable = releases.filter((one) => one.can?.query !== false);
  const offered = tables.filter((one) => one.models.length && one.columns.length);
  return { title: "Ask", body: [freePart(usable, signal),
    offered.length ? chargedPart({ tables: offered, models, budgets }, query.get("table"), signal)
    : null].filter(Boolean) };
}
