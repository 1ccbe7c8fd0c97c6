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
const SAID = {
  queued: "Waiting for its turn.",
  awaiting_approval: "Waiting for a second person to approve it. Nothing is charged before.",
  running: "Being computed. It is charged already, and what it pays for is never lost.",
  done: "Released.",
  refused: "Refused.",
  rejected: "Rejected by the person who was asked. Nothing was charged.",
  failed: "It failed.",
};

const kept = () => JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
/** Remember a job for as long as this tab is open. */
export const keepJob = (id) => sessionStorage.setItem(KEPT, JSON.stringify([...new Set([...kept(), id])]));
export const forgetJobs = () => sessionStorage.removeItem(KEPT);
const dropJob = (id) => sessionStorage.setItem(KEPT, JSON.stringify(kept().filter((one) => one !== id)));

/** One's own jobs that are not done. */
export async function pendingJobs(signal) {
  try {
    const { jobs } = await get("/v1/jobs", { signal });
    return jobs.filter(({ status }) => !DONE.has(status));
  } catch (error) {
    if (!(error instanceof Problem) || ![404, 405].includes(error.status)) throw error;
  }
  const asked = await Promise.allSettled(kept().map((id) => get(path("jobs", id), { signal })));
  return asked.filter(({ status }) => status === "fulfilled").map(({ value }) => value).filter(({ status }) =>
    !DONE.has(status));
}

/** Ask until the job is done; `seen` gets every state. */
export async function follow(id, seen, signal) {
  for (let wait = 600; ; wait = Math.min(5000, wait * 1.3)) {
    const now = await get(path("jobs", id), { signal });
    seen(now);
    if (DONE.has(now.status)) {
      dropJob(id);
      return now;
    }
    await pause(wait, signal);
  }
}

const shareOf = (progress) => (typeof progress === "number" ? percent(progress) : progress?.words ?? String(progress));
const idOf = (release) => (typeof release === "object" ? release.id : release);

export async function job({ query, signal }) {
  const id = query.get("id");
  const state = element("p", { class: "lead state" });
  const place = element("div", {});
  const section = element("section", { "aria-label": "State of the release" }, state, place);
  let last = "";
  const seen = (now) => {
    const words = SAID[now.status] ?? spaced(now.status);
    state.textContent = now.progress ? `${words} ${shareOf(now.progress)}` : words;
    if (now.status !== last) say(words);
    last = now.status;
    place.replaceChildren(...[now.table
      ? facts([["Table", called(now.table)], now.columns ? ["Columns", calledAll(now.columns)] : null,
      ["Model", spaced(now.model ?? "–")], ["Price", guarantee(now.price ?? now)]]) : null].filter(Boolean));
  };
  const ended = (now) => {
    if (now.release) return go("release", { id: idOf(now.release) });
    if (now.problem) {
      place.append(told(new Problem(now.problem.status ?? 500, now.problem)));
      warn(now.problem.title ?? state.textContent);
    }
    return place.append(element("p", { class: "actions" },
      element("a", { class: "button", href: to("plan") }, "Plan another")));
  };
  const broke = (error) => {
    if (error.name !== "AbortError") place.replaceChildren(told(error, { again: start }));
  };
  function start() { follow(id, seen, signal).then(ended).catch(broke); }
  seen(await get(path("jobs", id), { signal }));
  start();
  return { title: "A release under way",
    body: [section, quiet("You may leave this page: what is under way is listed under ",
    link(to("releases"), "Releases"), ".")] };
}
