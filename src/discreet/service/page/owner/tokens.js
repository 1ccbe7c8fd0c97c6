/** Tokens: shown once, listed, revoked. */
import { called, element } from "../base/elements.js";
import { button, copyButton, quiet, table } from "../base/blocks.js";
import { moment } from "../base/words.js";
import { ask, get, path, post } from "../base/service.js";
import { choice, text } from "../base/fields.js";
import { confirmed } from "../base/dialog.js";
import { changed, living } from "./change.js";

const DAY = 86_400_000;
const inDays = (days) => new Date(Date.now() + days * DAY).toISOString().slice(0, 10);
const time = (stamp) => new Date(typeof stamp === "number" ? stamp * 1000 : stamp).getTime();
const state = (one) => (one.revoked ? "revoked" : one.expires && time(one.expires) <= Date.now() ? "expired" : "valid");

function shownOnce({ token }, analyst) {
  return confirmed({ title: "Copy this token now", label: "I have copied it", cancel: "Close", act: async () => true,
    body: [
    element("p", {}, "It is for ", called(analyst), ", and shown this once: only its hash is kept."),
    element("div", { class: "secret" }, element("code", { class: "code", id: "token" }, token), copyButton(token))] });
}

async function issue(analysts, wanted, again) {
  const who = choice("For", analysts.map(({ name }) => [name, name]), { value: wanted });
  const expires = text("Expires", { type: "date", value: inDays(90), required: true, min: inDays(1) });
  const made = await changed({ title: "Issue a token", label: "Issue", fields: [who, expires], said: "Issued", again,
    act: () => post("/v1/owner/tokens", { analyst: who.value, expires: expires.value }) });
  if (made?.token) await shownOnce(made, who.value);
}

const revoke = (one, again) =>
  changed({ title: "Revoke this token?", label: "Revoke", fields: [], said: "Revoked", again,
  intro: ["Whoever uses it is signed out at once. The releases of ", called(one.analyst), " stay."],
    act: () => ask("DELETE", path("owner", "tokens", one.id)) });

export async function tokens({ query, signal }) {
  const wanted = query.get("analyst");
  const load = async (again) => {
    const [{ tokens: all }, { analysts }] = await Promise.all([get("/v1/owner/tokens", { signal }),
      get("/v1/owner/analysts", { signal })]);
    const shown = wanted ? all.filter(({ analyst }) => analyst === wanted) : all;
    return [element("p", { class: "actions" },
      button("Issue a token …", () => issue(analysts, wanted ?? undefined, again),
      { class: "primary", disabled: !analysts.length })),
      wanted ? quiet("Of ", called(wanted), " only. ", element("a", { href: "#/owner/tokens" }, "Show all")) : null,
      element("section", { "aria-label": "Tokens" },
        table("Tokens", [["Number"], ["Analyst"], ["Created"], ["Expires"], ["State"], "Actions"], shown.map((one) => [
        called(one.id, 20), called(one.analyst), moment(one.created), one.expires ? moment(one.expires) : "never",
          state(one),
        state(one) === "valid" ? button("Revoke …", () => revoke(one, again),
          { "aria-label": `Revoke token ${one.id} of ${one.analyst}` }) : "–"]),
          { empty: "No token was issued yet." }))];
  };
  return { title: "Tokens", body: await living(load, signal) };
}
