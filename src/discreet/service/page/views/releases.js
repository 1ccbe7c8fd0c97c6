/** Everything that was released, in time. */
import { called, calledAll, element } from "../base/elements.js";
import { link, quiet, section, table } from "../base/blocks.js";
import { guarantee, moment, spaced, time } from "../base/words.js";
import { get } from "../base/service.js";
import { to } from "../base/router.js";
import { timeline } from "../charts/timeline.js";
import { pendingJobs } from "./jobs.js";

const row = (one) => [link(to("release", { id: one.id }), moment(one.created)), called(one.table, 60),
  calledAll(one.columns ?? []),
  `${spaced(one.model)}, ${spaced(one.mechanism ?? "–")}`, guarantee(one.price ?? one)];

export async function releases({ signal, session }) {
  const [{ releases: all }, waiting] = await Promise.all([get("/v1/releases", { signal }), pendingJobs(signal)]);
  const newest = [...all].sort((a, b) => time(b.created) - time(a.created));
  const owner = session.role === "owner";
  return { title: "Releases", body: [
    waiting.length ? section("Not yet released",
      element("ul", {}, waiting.map((one) =>
      element("li", {}, link(to("job", { id: one.id }), `${spaced(one.status)}: `,
      one.table ? called(one.table) : `job ${one.id}`))))) : null,
    all.length ? section("Timeline", timeline(newest)) : null,
    section("All releases", all.length
      ? table("Releases, newest first",
      [["When"], ["Table"], ["Columns"], ["Model and mechanism"], ...(owner ? [["Asked by"]] : []), "Price"],
      newest.map((one) => (owner ? row(one).toSpliced(4, 0, called(one.analyst ?? "–", 40)) : row(one))))
      : quiet("Nothing has been released to you yet. ", link(to("plan"), "Plan a release"), ": planning is free.")),
  ].filter(Boolean) };
}
