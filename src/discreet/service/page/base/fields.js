/** Labelled fields of forms. Each is { node, value }, where `value` reads what is entered. */
import { element, freshId, shortened, visible } from "./elements.js";
import { number, value as read } from "./words.js";

const labelled = (id, label, hint, ...inputs) =>
  element("div", { class: "field" }, element("label", { for: id }, label),
  hint ? element("span", { class: "hint", id: `${id}-hint` }, hint) : null, inputs);

/** A field for text. */
export function text(label, { value = "", hint, type = "text", required = false, onInput, ...more } = {}) {
  const id = freshId("field");
  const input = element(type === "area" ? "textarea" : "input", {
    id, value, required, type: type === "area" ? null : type, "aria-describedby": hint ? `${id}-hint` : null,
      spellcheck: "false",
    autocomplete: "off", ...more, on: onInput ? { input: onInput } : {},
  });
  return { node: labelled(id, label, hint, input), input, get value() { return input.value.trim(); } };
}

/** A choice of one from a list of [value, label]. */
export function choice(label, options, { value, hint, onChange } = {}) {
  const id = freshId("field");
  const items = options.map(([option, shown]) =>
    element("option", { value: option, selected: option === value }, shortened(shown ?? option)));
  const input = element("select",
    { id, "aria-describedby": hint ? `${id}-hint` : null,
    on: onChange ? { change: () => onChange(input.value) } : {} }, items);
  return { node: labelled(id, label, hint, input), input, get value() { return input.value; } };
}

/** A choice of several. */
export function several(legend, options, { chosen = [], hint, onChange } = {}) {
  const boxes = options.map(([option, shown]) => {
    const box = element("input",
      { type: "checkbox", checked: chosen.includes(option), on: onChange ? { change: onChange } : {} });
    return { option, box, node: element("label", { class: "tick" }, box,
      element("bdi", {}, shortened(shown ?? option))) };
  });
  return {
    node: element("fieldset", {}, element("legend", {}, legend), hint ? element("span", { class: "hint" }, hint) : null,
      element("div", { class: "ticks" }, boxes.map((one) => one.node))),
    get value() { return boxes.filter(({ box }) => box.checked).map(({ option }) => option); },
  };
}

const STEPS = 240;

/** Where a number stands on the slider, and which number stands there; log scales may have a zero at their left end. */
function ruler({ least, most, log, zero }) {
  const [from, to] = log ? [Math.log10(least), Math.log10(most)] : [least, most];
  const start = zero ? 1 : 0;
  return {
    at: (step) => {
      if (zero && step === 0) return 0;
      const place = from + ((to - from) * (step - start)) / (STEPS - start);
      return Number((log ? 10 ** place : place).toPrecision(log ? 2 : 3));
    },
    step: (x) => {
      if (zero && x === 0) return 0;
      const place = ((log ? Math.log10(x) : x) - from) / (to - from);
      return Math.round(start + Math.min(1, Math.max(0, place)) * (STEPS - start));
    },
  };
}

const exact = (x) => (x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e6) ? x.toExponential().replace("e+", "e")
  : String(x));

/** A number by a slider, or typed exactly. `allowed` refuses, in words, what cannot be meant. */
export function slider(label,
  { value, least, most, log = false, zero = false, hint, words = number, allowed = () => "", onChange = () => {} }) {
  const id = freshId("field");
  const scale = ruler({ least, most, log, zero });
  let current = value;
  const range = element("input",
    { type: "range", min: 0, max: STEPS, step: 1, value: scale.step(value), "aria-label": `${visible(label)}, slider`,
    "aria-valuetext": words(value) });
  const typed = element("input",
    { id, type: "text", inputmode: "decimal", autocomplete: "off", value: exact(value), class: "number",
    "aria-describedby": `${id}-hint ${id}-wrong` });
  const wrong = element("span", { class: "wrong", id: `${id}-wrong`, role: "status" });
  const take = (x) => {
    current = x;
    wrong.textContent = "";
    typed.removeAttribute("aria-invalid");
    range.setAttribute("aria-valuetext", words(x));
    onChange(x);
  };
  const refuse = (why) => { wrong.textContent = why; typed.setAttribute("aria-invalid", "true"); };
  range.addEventListener("input", () => { const x = scale.at(Number(range.value)); typed.value = exact(x); take(x); });
  typed.addEventListener("change", () => {
    const x = read(typed.value.trim().replace(",", ".") || "nothing");
    const why = Number.isFinite(x) ? allowed(x) : "Write a number, such as 0.5 or 1e-6.";
    if (why) return refuse(why);
    range.value = scale.step(x);
    return take(x);
  });
  const set = (x) => { typed.value = exact(x); range.value = scale.step(x); take(x); };
  const node = element("div", { class: "field slider" }, element("label", { for: id }, label), typed, range, wrong,
    element("span", { class: "hint", id: `${id}-hint` }, hint));
  return { node, set, get value() { return current; } };
}

const positive = (x) => (x > 0 ? "" : "It must be above 0.");
export const epsilonSlider = (options = {}) => slider("Privacy loss ε", {
  value: 0.5, least: 0.01, most: 10, log: true, allowed: positive, hint: "Smaller protects more and says less.",
    ...options });
export const deltaSlider = (options = {}) => slider("Failure probability δ", {
  value: 1e-6, least: 1e-12, most: 1e-3, log: true, zero: true,
    hint: "The chance that ε does not hold; 0 promises it always.",
  allowed: (x) => (x >= 0 && x < 1 ? "" : "It must be 0, or between 0 and 1."),
    words: (x) => (x === 0 ? "0, never" : number(x)), ...options });

/** Call `act` once it has been quiet for a while. */
export function settled(act, milliseconds = 350) {
  let timer;
  return () => { clearTimeout(timer); timer = setTimeout(act, milliseconds); };
}
