/** Numbers in words. What is spent is rounded up, what is left is rounded down. */
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const raised = (power) =>
  `${power < 0 ? "⁻" : ""}${[...String(Math.abs(power))].map((digit) => RAISED[digit]).join("")}`;

/** A number as the service writes it: a double, a decimal, "inf" or a fraction p/q. */
export function value(written) {
  if (typeof written !== "string") return written === null || written === undefined ? NaN : Number(written);
  if (/^-?inf(inity)?$/iu.test(written)) return written.startsWith("-") ? -Infinity : Infinity;
  const [over, under] = written.split("/");
  return under === undefined ? Number(over) : Number(over) / Number(under);
}

function written(x) {
  if (x === Infinity) return "∞";
  if (!Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  if (size === 0) return "0";
  if (size >= 1e-3 && size < 1e6) {
    const [units, parts] = String(x).replace("-", "−").split(".");
    const spacedUnits = size >= 1e4 ? units.replace(/\B(?=(\d{3})+$)/gu, "\u2009") : units;
    return parts ? `${spacedUnits}.${parts}` : spacedUnits;
  }
  const power = Math.floor(Math.log10(size) + 1e-12);
  const lead = Number((x / 10 ** power).toPrecision(12));
  return lead === 1 ? `10${raised(power)}` : `${String(lead).replace("-", "−")}·10${raised(power)}`;
}

function roundedBy(x, digits, round) {
  if (!Number.isFinite(x) || x === 0) return x;
  // Whatever is already that short is left alone: 0.1 · 1000 is not whole in binary
  const near = Number(x.toPrecision(digits));
  if (Math.abs(near - x) <= 1e-13 * Math.abs(x)) return near;
  const unit = 10 ** (Math.floor(Math.log10(Math.abs(x))) + 1 - digits);
  return Number((round(x / unit) * unit).toPrecision(digits));
}

/** The number, rounded down to so many digits: what may be asked where so much is left. */
export const downward = (x, digits = 6) => roundedBy(value(x), digits, Math.floor);

/** A number to so many digits, nearest. */
export const number = (x, digits = 3) => written(Number(value(x).toPrecision(digits)));
/** What is spent: never shown smaller than it is. */
export const atMost = (x, digits = 4) => written(roundedBy(value(x), digits, Math.ceil));
/** What is left: never shown larger than it is. */
export const atLeast = (x, digits = 4) => written(roundedBy(value(x), digits, Math.floor));
export const whole = (x) => Math.round(value(x)).toLocaleString("en-GB").replaceAll(",", "\u2009");
export const percent = (x, digits = 3) => `${number(100 * value(x), digits)} %`;

const SYMBOLS = { epsilon: "ε", delta: "δ", rho: "ρ", mu: "μ", xi: "ξ", omega: "ω", order: "α" };

const NAMED = {
  PureDP: ([epsilon], round) => `ε = ${round(epsilon)}`,
  ApproxDP: ([epsilon, delta], round) => `ε = ${round(epsilon)}, δ = ${round(delta)}`,
  ZeroCDP: ([rho], round) => `ρ = ${round(rho)} (zero-concentrated)`,
  GaussianDP: ([mu], round) => `μ = ${round(mu)} (Gaussian)`,
  BoundedRange: ([epsilon], round) => `ε = ${round(epsilon)} (bounded range)`,
};
const KIND = new RegExp(`\\b(${Object.keys(NAMED).join("|")})\\(([^()]*)\\)`, "gu");

/** Words of the library, with its class names as symbols. */
export const symbols = (words, round = atMost) => words.replace(KIND, (all, kind, parts) => {
  const amounts = parts.split(",").map((part) => part.trim());
  return amounts.every((amount) => Number.isFinite(value(amount))) ? NAMED[kind](amounts, round) : all;
});

/** What the service says, as a sentence. */
export function sentence(words) {
  const said = symbols(String(words)).trim();
  const begun = /^[a-z]/u.test(said) ? said[0].toUpperCase() + said.slice(1) : said;
  return /[.!?…:;]$/u.test(begun) || !begun ? begun : `${begun}.`;
}

/** A price or budget in words: the service's own where it has some. */
export function guarantee(said, round = atMost) {
  if (said === null || said === undefined) return "–";
  if (typeof said === "number") return `ε = ${round(said)}`;
  if (typeof said === "string") return symbols(said, round);
  if (said.words) return symbols(said.words, round);
  const parts = Object.keys(SYMBOLS).filter((name) => said[name] !== undefined && said[name] !== null);
  const shown = parts.filter((name) => name !== "delta" || value(said.delta) !== 0 || parts.length === 1);
  return shown.map((name) => `${SYMBOLS[name]} = ${round(said[name])}`).join(", ") || "nothing";
}

export const left = (said) => guarantee(said, atLeast);

/** Milliseconds of a time stamp: seconds, or text as ISO 8601 has it. */
export const time = (stamp) => new Date(typeof stamp === "number" ? stamp * 1000 : stamp).getTime();

/** A moment, in the reader's own time zone. */
export function moment(stamp) {
  const at = new Date(time(stamp ?? NaN));
  if (Number.isNaN(at.getTime())) return String(stamp ?? "–");
  return at.toLocaleString("en-GB",
    { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
}

/** "1 release", "2 releases". */
export const counted = (n, noun, many = `${noun}s`) => `${whole(n)} ${n === 1 ? noun : many}`;
/** What the service calls with underscores, with spaces. */
export const spaced = (name) => String(name).replaceAll("_", " ");
