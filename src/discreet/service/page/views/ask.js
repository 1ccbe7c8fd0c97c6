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
import { SAID, follow } from "./jobs.js";
import { questionFields } from "./question.js";
import { remainder } from "./remains.js";

function freePart(releases, signal) {
  const title = "Free, from a release";
  if (!releases.length) return section(title,
    quiet("You have no release yet. ", link(to("plan"), "Plan one"), ", and ask it as often as you like."));
  const place = element("div", {});
  const draw = (id) => place.replaceChildren(freeBox(id, signal));
  const options = releases.map((one) => [one.id, `${moment(one.created)}, ${one.table}, ${spaced(one.model)}`]);
  draw(releases[0].id);
  return section(title, choice("Release", options, { onChange: draw }).node, place);
}

/** Say the price of an answer, and what will remain; the key lasts as long as the question is open. */
function charged(body, budgets, scopes, signal) {
  const key = freshKey();
  const state = element("p", { role: "status" });
  const act = async () => {
    for (;;) {
      const said = await request("POST", "/v1/queries", { body, key });
      if (!said.job) return said;
      // It takes longer, or waits for a person: under the same key the answer comes when it is there
      await follow(said.job.id, ({ status }) => { state.textContent = SAID[status] ?? spaced(status); }, signal);
    }
  };
  return confirmed({
    title: "Ask and charge?", label: "Ask and charge",
    body: [
      facts([["Query", called(body.query, 300)], ["Table", called(body.table)], ["Model", spaced(body.model)],
        ["Price", element("span", { class: "price" }, guarantee({ epsilon: body.epsilon, delta: body.delta }))]]),
      element("h3", {}, "What will remain"), remainder(budgets, scopes, body, body),
      quiet("The answer is one draw from the posterior. A charge is never taken back."), state,
    ],
    act,
  });
}

function chargedPart({ tables, models }, wanted, signal) {
  const answers = element("div", { class: "answers" });
  const price = element("span", { class: "price" });
  const question = questionFields({ tables, models, wanted: { table: wanted }, changed: settled(() => complete(), 250),
    signal });
  const showPrice = () => { price.textContent = `Price: ${guarantee({ epsilon: epsilon.value, delta: delta.value })}`; };
  const epsilon = epsilonSlider({ value: 0.1, onChange: () => showPrice() });
  const delta = deltaSlider({ value: 0, onChange: () => showPrice() });
  const field = queryField("Query", { hint: GRAMMAR });

  async function complete() {
    const { prior, ...asked } = question.value;
    try {
      field.offer(await get(path("queries", "names", { ...asked, prior: JSON.stringify(prior) }), { signal }));
    } catch {
      field.offer({});
    }
  }
  async function submit(event) {
    event.preventDefault();
    if (!field.value) return field.input.focus();
    const body = { query: field.value, ...question.value, epsilon: epsilon.value, delta: delta.value };
    const { budgets } = await get("/v1/budgets", { signal });
    const said = await charged(body, budgets, tables.find(({ name }) => name === body.table).scopes, signal);
    if (!said) return null;
    answers.prepend(answered(body.query, said));
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
  const [{ releases }, { tables }, { models }] = await Promise.all(
    ["/v1/releases", "/v1/tables", "/v1/models"].map((where) => get(where, { signal })));
  const offered = tables.filter((one) => one.models.length && one.columns.length);
  return { title: "Ask", body: [freePart(releases, signal),
    offered.length ? chargedPart({ tables: offered, models }, query.get("table"), signal) : null].filter(Boolean) };
}
