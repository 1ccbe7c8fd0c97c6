/** Releases that are not there yet: waiting for a person, for their turn, or for the schedule. */
import { called, calledAll, element } from "../base/elements.js";
import { facts, link, quiet } from "../base/blocks.js";
import { guarantee, percent, spaced } from "../base/words.js";
import { Problem, told } from "../base/problem.js";
import { get, path, pause } from "../base/service.js";
import { go, to } from "../base/router.js";
import { say, warn } from "../base/announce.js";

const KEPT = "discreet-jobs";
const DONE = new Set(["done", "refused", "failed", "rejected", "withdrawn"]);
/** The states of a job, in words. */
export const SAID = {
  queued: "Waiting for its turn.",
  awaiting_approval: "Waiting for a second person to approve it. Nothing is charged before.",
  running: "Being computed. What it pays for is never lost.",
  done: "Released.",
  refused: "It was refused. Nothing was charged.",
  rejected: "Rejected by the person who was asked. Nothing was charged.",
  failed: "It failed. A charge, if one was made, is kept: ask again to get what it paid for.",
};

const kept = () => JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
const keep = (jobs) => sessionStorage.setItem(KEPT, JSON.stringify(jobs));
const dropJob = (id) => keep(kept().filter((one) => one.id !== id));
/** Remember what was asked, { id, table, … }, for as long as this tab is open and somebody is signed in. */
export const keepJob = (asked) => keep([...kept().filter(({ id }) => id !== asked.id), asked]);
export const forgetJobs = () => sessionStorage.removeItem(KEPT);
/** The state of a job, with what is remembered of the question. */
const joined = (now) => ({ ...kept().find(({ id }) => id === now.id), ...now });

/** One's own jobs that are not done. */
export async function pendingJobs(signal) {
  try {
    const { jobs } = await get("/v1/jobs", { signal });
    return jobs.filter(({ status }) => !DONE.has(status));
  } catch (error) {
    if (!(error instanceof Problem) || ![404, 405].includes(error.status)) throw error;
  }
  const found = await Promise.allSettled(kept().map(({ id }) => get(path("jobs", id), { signal })));
  const known = found.filter(({ status }) => status === "fulfilled").map(({ value }) => joined(value));
  return known.filter(({ status }) => !DONE.has(status));
}

/** Ask until the job is done; `seen` gets every state. */
export async function follow(id, seen, signal) {
  for (let wait = 500; ; wait = Math.min(5000, wait * 1.3)) {
    const now = await get(path("jobs", id), { signal });
    seen(now);
    if (DONE.has(now.status)) {
      dropJob(id);
      return now;
    }
    await pause(wait, signal);
  }
}

/** How far it is, by public facts only: which step of how many, and what that is. */
const stepOf = ({ status, progress: { step, of, words } }) =>
  `Step ${step} of ${of}: ${status === "awaiting_approval" ? SAID[status] : `${words}.`}`;
const idOf = (release) => (typeof release === "object" ? release.id : release);

const asked = (now) => (now.table ? facts([["Table", called(now.table)], ["Columns", calledAll(now.columns ?? [])],
  ["Model", spaced(now.model ?? "–")], ["Promised", guarantee({ epsilon: now.epsilon, delta: now.delta })]]) : "");

/** Why a job gave no release: what a person said of it, or what the service did. */
function why({ problem, status, reason }) {
  const found = new Problem(problem?.status ?? 500, { ...problem, detail: reason ?? problem?.detail });
  if (found.status !== 403) return found;
  return Object.assign(found,
    { message: SAID[status], next: problem.next ?? "Speak to whoever decided, or plan something smaller." });
}

export async function job({ query, signal }) {
  const id = query.get("id");
  const state = element("p", { class: "lead state" });
  const place = element("div", {});
  let last = "";

  const seen = (found) => {
    const now = joined(found);
    const words = SAID[now.status] ?? spaced(now.status);
    state.textContent = now.progress ? stepOf(now) : words;
    if (now.status !== last) say(words);
    last = now.status;
    place.replaceChildren(asked(now));
  };
  const ended = (now) => {
    if (now.release) return go("release", { id: idOf(now.release) });
    const problem = why(now);
    warn(problem.message);
    return place.append(told(problem),
      element("p", { class: "actions" }, element("a", { class: "button", href: to("plan") }, "Plan another")));
  };
  const broke = (error) => { if (!signal.aborted) place.replaceChildren(told(error, { again: start })); };
  function start() { follow(id, seen, signal).then(ended).catch(broke); }

  seen(await get(path("jobs", id), { signal }));
  start();
  const where = link(to("releases"), "Releases");
  return { title: "A release under way",
    body: [element("section", { "aria-label": "State of the release" }, state, place),
    quiet("You may leave this page: what is under way is listed under ", where, ".")] };
}
