/** Releases in time: a lane for each table, a dot for each release, larger where more ε was spent. */
import { drawn, shortened } from "../base/elements.js";
import { atMost, counted, moment, time, value } from "../base/words.js";
import { figure } from "./figure.js";

const LANE = 46;
const LANES = 8;
const DAY = 86_400_000;

const when = ({ created }) => time(created);
const short = (at, span) => new Date(at).toLocaleString("en-GB", span > 3 * DAY
  ? { day: "numeric", month: "short" } : { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

function lanesOf(releases) {
  const tables = [...new Set(releases.map(({ table }) => table))];
  const own = tables.slice(0, tables.length > LANES ? LANES - 1 : LANES);
  const lanes = own.map((table) =>
    ({ label: shortened(table, 42), releases: releases.filter((one) => one.table === table) }));
  const rest = releases.filter((one) => !own.includes(one.table));
  return rest.length ? [...lanes, { label: "other tables", releases: rest }] : lanes;
}

export function timeline(releases) {
  const times = releases.map(when).filter(Number.isFinite);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const span = Math.max(last - first, 60_000);
  const most = Math.max(...releases.map(({ epsilon }) => value(epsilon) || 0), 1e-12);
  const lanes = lanesOf(releases);
  const draw = (width) => {
    const [left, right, bottom] = [14, width - 14, 8 + LANE * lanes.length];
    const at = (one) => left + ((right - left) * (one - first)) / span;
    const ticks = width < 480 ? [0, 1] : [0, 0.25, 0.5, 0.75, 1];
    const anchor = (part) => (part === 0 ? "start" : part === 1 ? "end" : "middle");
    return { height: bottom + 26, nodes: [
      lanes.map((lane, row) => {
        const y = 8 + LANE * row + 30;
        return [drawn("text", { class: "key", x: left, y: y - 16 }, lane.label),
          drawn("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }),
          lane.releases.filter((one) => Number.isFinite(when(one))).map((one) =>
            drawn("circle", { class: "draw", cx: at(when(one)), cy: y,
            r: 4 + 6 * Math.sqrt((value(one.epsilon) || 0) / most) }))];
      }),
      drawn("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
      ticks.map((part) => drawn("text",
        { class: "tick", x: left + (right - left) * part, y: bottom + 18, "text-anchor": anchor(part) },
        short(first + span * part, span)))] };
  };
  const description = `${counted(releases.length, "release")} from ${moment(first)} to ${moment(last)}; `
    + `a larger dot spent more ε, at most ${atMost(most)}. The table below lists them.`;
  return figure({ title: "Releases in time", description, caption: "A lane for each table; a larger dot spent more ε.",
    draw });
}
