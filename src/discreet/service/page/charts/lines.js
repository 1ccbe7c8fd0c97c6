/** Curves over a common axis: densities, δ(ε), trade-offs. */
import { drawn } from "../base/elements.js";
import { number, value } from "../base/words.js";
import { below, beside, linear, logarithmic } from "./axes.js";
import { figure, thinned } from "./figure.js";

const pairs = ({ x, y }) =>
  x.map((at, index) => [value(at), value(y[index])]).filter((point) => point.every((part) => !Number.isNaN(part)));
const route = (points) => points.map(([x, y], at) => `${at ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

function ends(points, pick, wanted, log) {
  const seen = points.map(pick).filter((x) => Number.isFinite(x) && (!log || x > 0));
  return wanted ?? [Math.min(...seen), Math.max(...seen)];
}

function legend(curves, left) {
  let x = left;
  return curves.filter(({ label }) => label).map(({ label, kind }) => {
    const made = [drawn("line", { class: kind, x1: x, x2: x + 20, y1: 11, y2: 11 }),
      drawn("text", { class: "key", x: x + 26, y: 15 }, label)];
    x += 44 + 7 * label.length;
    return made;
  });
}

/**
 * A picture of curves. Each curve is { x, y, label, kind, filled }, where `kind` is a class of the style sheet; an axis
 * is { label, log, ends, words }. Without numbers beside it, the upright axis shows densities: only shapes matter.
 */
export function lines({ title, description, caption, curves, across = {}, up = {}, marks = [], shapes = false }) {
  const all = curves.map((curve) => ({ ...curve, points: pairs(curve) })).filter((curve) => curve.points.length);
  const every = all.flatMap((curve) => curve.points);
  const [low, high] = ends([...every, ...marks], ([x]) => x, across.ends, across.log);
  const [least, most] = ends(shapes ? [[0, 0], ...every] : [...every, ...marks], ([, y]) => y, up.ends, up.log);
  const draw = (width) => {
    const [left, right, top, bottom] = [shapes ? 6 : 52, width - 8, 30, 246];
    const xs = (across.log ? logarithmic : linear)(low, high, left, right, Math.floor(width / 90));
    const ys = (up.log ? logarithmic : linear)(least, most, bottom, top, 5);
    const drawnCurves = all.map(({ points, kind, filled }) => {
      const placed = points.map(([x, y]) => [xs.at(x), ys.at(Math.min(y, most))]);
      const closed = `${route(placed)}L${placed.at(-1)[0].toFixed(1)} ${bottom}L${placed[0][0].toFixed(1)} ${bottom}Z`;
      return [filled ? drawn("path", { class: "interval", d: closed }) : null,
        drawn("path", { class: kind, d: route(placed) })];
    });
    return { height: 290, nodes: [below(xs, bottom, top, across.label ?? "", across.words),
      shapes ? [] : beside(ys, left, right, up.words),
      drawnCurves, marks.map(([x, y]) => drawn("circle", { class: "promise", cx: xs.at(x), cy: ys.at(y), r: 5.5 })),
        legend(all, left)] };
  };
  return figure({ title, description, caption, draw, numbers: numbersOf(all, across, up) });
}

function numbersOf(curves, across, up) {
  const words = [across.words ?? number, up.words ?? number];
  return {
    columns: [["curve"], across.label ?? "x", up.label ?? "y"],
    rows: curves.flatMap(({ points, label, kind }) =>
      thinned(points, 12).map(([x, y]) => [label ?? kind, words[0](x), words[1](y)])),
  };
}

/** Where a curve is highest. */
export function peak({ x, y }) {
  const best = y.reduce((top, height, at) => (value(height) > value(y[top]) ? at : top), 0);
  return value(x[best]);
}
