/** How much of a budget is spent. */
import { drawn } from "../base/elements.js";
import { percent, value } from "../base/words.js";

/** A bar as wide as the page: spent from the left, and hatched what a release would add. */
export function budgetBar(fraction, label, added = 0) {
  const spent = Math.min(1, Math.max(0, value(fraction) || 0));
  const more = Math.min(1 - spent, Math.max(0, value(added) || 0));
  const share = (part) => `${(100 * part).toFixed(2)}%`;
  return drawn("svg", { class: "bar", role: "img", width: "100%", height: 14,
    "aria-label": `${label}: ${percent(spent)} spent${more ? `, ${percent(more)} more by this release` : ""}` },
    drawn("rect", { class: "trough", x: 0, y: 1, width: "100%", height: 12, rx: 6 }),
    spent ? drawn("rect", { class: "spent", x: 0, y: 1, width: share(spent), height: 12, rx: 6 }) : null,
    more ? drawn("rect", { class: "asked", x: share(spent), y: 1, width: share(more), height: 12, rx: 3 }) : null);
}
