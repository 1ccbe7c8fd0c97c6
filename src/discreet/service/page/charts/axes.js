/** Axes: from numbers to places, with ticks that people read. */
import { drawn } from "../base/elements.js";
import { number } from "../base/words.js";

const nice = (rough) => {
  const unit = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].find((m) => m * unit >= rough * (1 - 1e-9)) * unit;
};

/** An axis of plain numbers. */
export function linear(least, most, from, to, room) {
  const span = most > least ? most - least : Math.abs(least) || 1;
  const end = most > least ? most : least + span;
  const step = nice(span / Math.max(1, room));
  const ticks = [];
  for (let tick = Math.ceil(least / step - 1e-9); tick * step <= end + step * 1e-9; tick += 1) ticks.push(Number((tick * step).toPrecision(12)));
  return { at: (x) => from + ((to - from) * (x - least)) / (end - least), ticks, words: (x) => number(x, 4), from, to };
}

/** An axis of powers of ten; what is below its start is drawn at its start. */
export function logarithmic(least, most, from, to, room) {
  const low = Math.floor(Math.log10(least) + 1e-9);
  const high = Math.max(low + 1, Math.ceil(Math.log10(most) - 1e-9));
  const every = Math.max(1, Math.ceil((high - low) / Math.max(1, room)));
  const ticks = [];
  for (let power = high; power >= low; power -= every) ticks.push(10 ** power);
  const at = (x) => from + ((to - from) * (Math.max(low, x > 0 ? Math.log10(x) : low) - low)) / (high - low);
  return { at, ticks: ticks.reverse(), words: (x) => number(x, 2), from, to };
}

const ANCHORS = ["start", "middle", "end"];

/** The lower axis, with its name below. */
export function below(axis, y, top, label, words = axis.words) {
  const marks = axis.ticks.map((tick) => {
    const x = axis.at(tick);
    const edge = x > axis.to - 14 ? 2 : x < axis.from + 14 && axis.from < 20 ? 0 : 1;
    return [drawn("line", { class: "grid", x1: x, x2: x, y1: top, y2: y }),
      drawn("text", { class: "tick", x, y: y + 18, "text-anchor": ANCHORS[edge] }, words(tick))];
  });
  return [marks, drawn("line", { class: "axis", x1: axis.from, x2: axis.to, y1: y, y2: y }),
    drawn("text", { class: "key", x: axis.to, y: y + 36, "text-anchor": "end" }, label)];
}

/** The upright axis: lines across, with their numbers at the left. */
export const beside = (axis, left, right, words = axis.words) => axis.ticks.map((tick) => [
  drawn("line", { class: "grid", x1: left, x2: right, y1: axis.at(tick), y2: axis.at(tick) }),
  drawn("text", { class: "tick", x: left - 6, y: axis.at(tick) + 4, "text-anchor": "end" }, words(tick))]);
