/** What an owner's views share: a question with fields, and the list drawn again once it was done. */
import { element } from "../base/elements.js";
import { confirmed } from "../base/dialog.js";
import { say } from "../base/announce.js";
import { told } from "../base/problem.js";
import { text } from "../base/fields.js";

/** A place that `load` fills, and that fills itself again after a change. */
export async function living(load, signal) {
  const place = element("div", {});
  const again = async () => {
    try {
      place.replaceChildren(...[await load(again)].flat(Infinity).filter(Boolean));
    } catch (error) {
      if (signal.aborted) return;
      place.replaceChildren(told(error, { again }));
    }
  };
  place.append(...[await load(again)].flat(Infinity).filter(Boolean));
  return place;
}

/** Ask for fields in a dialog, do it, say so, and draw again. */
export async function changed({ title, intro, fields, label, act, said, again }) {
  const done = await confirmed({ title, label,
    body: [intro ? element("p", {}, intro) : null, fields.map(({ node }) => node)],
    act: async () => (await act()) ?? true });
  if (done === null) return null;
  say(said);
  await again();
  return done;
}

export const reasonField = () => text("Reason", { required: true, maxlength: 300, hint: "It goes on the trail." });

/** Words between commas. */
export const listed = (field) => field.value.split(",").map((part) => part.trim()).filter(Boolean);
