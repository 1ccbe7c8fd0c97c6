/** Tokens: shown once, listed, revoked. */
import { called, element } from "../base/elements.js";
import { button, copyButton, quiet, table } from "../base/blocks.js";
import { moment, time } from "../base/words.js";
import { ask, get, path, post } from "../base/service.js";
import { choice, text } from "../base/fields.js";
import { confirmed } from "../base/dialog.js";
import { changed, living } from "./change.js";

const state = (one) => (one.revoked ? "revoked" : one.expires && time(one.expires) <= Date.now() ? "expired" : "valid");
const holder = (one) => one.analyst ?? one.person;

const shownOnce = ({ token }, analyst) => confirmed({
  title: "Copy this token now", label: "I have copied it", cancel: "Close", act: async () => true,
  body: [
    element("p", {}, "It is for ", called(analyst), ", and shown this once: only its hash is kept."),
    element("div", { class: "secret" }, element("code", { id: "token" }, token), copyButton(token)),
  ],
});

async function issue(analysts, wanted, again) {
  const who = choice("For", analysts.map(({ name }) => [name, name]), { value: wanted });
  const days = text("Days until it expires", { type: "number", value: 90, min: 1, max: 3660, required: true });
  const made = await changed({
    title: "Issue a token", label: "Issue", fields: [who, days], said: "Issued", again,
    act: () => post("/v1/owner/tokens", { analyst: who.value, days: Number(days.value) }),
  });
  if (made?.token) await shownOnce(made, who.value);
}

const revoke = (one, again) => changed({
  title: "Revoke this token?", label: "Revoke", fields: [], said: "Revoked", again,
  intro: ["Whoever uses it is signed out at once. The releases of ", called(holder(one)), " stay."],
  act: () => ask("DELETE", path("owner", "tokens", one.id)),
});

const row = (one, again) => [called(one.id, 20), called(holder(one)), moment(one.created),
  one.expires ? moment(one.expires) : "never", state(one), state(one) !== "valid" ? "–"
    : button("Revoke …", () => revoke(one, again), { "aria-label": `Revoke token ${one.id} of ${holder(one)}` })];

export async function tokens({ query, signal }) {
  const wanted = query.get("analyst");
  const load = async (again) => {
    const [{ tokens: all }, { analysts }] = await Promise.all(
      [get("/v1/owner/tokens", { signal }), get("/v1/owner/analysts", { signal })]);
    const shown = all.filter((one) => !wanted || holder(one) === wanted).toReversed();
    const offer = { class: "primary", disabled: !analysts.length };
    return [
      element("p", { class: "actions" },
        button("Issue a token …", () => issue(analysts, wanted ?? undefined, again), offer)),
      wanted ? quiet("Of ", called(wanted), " only. ", element("a", { href: "#/owner/tokens" }, "Show all")) : null,
      element("section", { "aria-label": "Tokens" },
        table("Tokens", [["Number"], ["Analyst"], ["Created"], ["Expires"], ["State"], "Actions"],
          shown.map((one) => row(one, again)), { empty: "No token was issued yet." })),
    ];
  };
  return { title: "Tokens", body: await living(load, signal) };
}
