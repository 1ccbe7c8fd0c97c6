/** Releases that wait for a second person. */
import { called, calledAll, element } from "../base/elements.js";
import { button, facts, quiet } from "../base/blocks.js";
import { guarantee, moment, spaced } from "../base/words.js";
import { get, path, pause, post } from "../base/service.js";
import { say } from "../base/announce.js";
import { changed, living, reasonField } from "./change.js";

const EVERY = 8000;

/** A request that waits, whichever way the service nests it. */
const flat = (one) => ({ ...one, ...one.request, id: one.job ?? one.id, analyst: one.analyst ?? one.person });

function decide(one, decision, again) {
  const reason = reasonField();
  const approve = decision === "approve";
  return changed({
    title: approve ? "Approve this release?" : "Reject this release?", label: approve ? "Approve" : "Reject",
      fields: [reason],
    intro: approve ? `It will be computed, and ${guarantee(one.price ?? one)} charged.`
      : "Nothing is charged; whoever asked reads the reason.",
    act: () => post(path("owner", "approvals", one.id), { decision, reason: reason.value }),
      said: approve ? "Approved" : "Rejected", again,
  });
}

function card(one, session, again) {
  const own = one.yours ?? one.analyst === session.name;
  return element("section", { "aria-label": `Request of ${one.analyst}` },
    facts([["Asked by", called(one.analyst)], ["When", moment(one.created)], ["Table", called(one.table)],
      ["Columns", calledAll(one.columns ?? [])],
      ["Model", `${spaced(one.model)}${one.mechanism ? `, ${spaced(one.mechanism)}` : ""}`],
        ["Price", element("span", { class: "price" }, guarantee(one.price ?? one))],
        one.note ? ["Note", called(one.note, 300)] : null]),
    own ? quiet("You asked for this yourself: another owner decides.")
      : element("p", { class: "actions" },
        button("Approve …", () => decide(one, "approve", again), { class: "primary" }),
        button("Reject …", () => decide(one, "reject", again))));
}

export async function approvals({ signal, session }) {
  let known = null;
  const load = async (again) => {
    const waiting = (await get("/v1/owner/approvals", { signal })).approvals.map(flat);
    known = waiting.map((one) => one.id).join();
    return waiting.length ? waiting.map((one) => card(one, session, again)) : quiet("Nothing waits for approval.");
  };
  let refresh = () => {};
  const place = await living((again) => { refresh = again; return load(again); }, signal);
  async function watch() {
    for (;;) {
      await pause(EVERY, signal);
      const now = (await get("/v1/owner/approvals", { signal })).approvals.map(flat);
      // Not under somebody's hands: only when there is something else to see, and no question is open
      if (now.map((one) => one.id).join() === known || document.querySelector("dialog[open]")) continue;
      await refresh();
      say("The list of approvals changed");
    }
  }
  watch().catch(() => {});
  return { title: "Approvals",
    body: [quiet("Releases above the price that the owner set wait here. Nobody approves what they asked for themselves."), place] };
}
