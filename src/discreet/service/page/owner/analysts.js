/** Who may ask. */
import { called, element } from "../base/elements.js";
import { button, names, table } from "../base/blocks.js";
import { get, post } from "../base/service.js";
import { choice, text } from "../base/fields.js";
import { to } from "../base/router.js";
import { changed, listed, living } from "./change.js";

function add(again, known) {
  const name = text("Name",
    { value: known?.name ?? "", required: true, maxlength: 100, hint: "Letters, digits and . _ @ + -" });
  const groups = text("Groups",
    { value: (known?.groups ?? []).join(", "),
    hint: "Names with commas between; a group can have a budget of its own." });
  const role = choice("Role", [["analyst", "Analyst"], ["owner", "Owner"]], { value: known?.role ?? "analyst" });
  return changed({ title: known ? "Change an analyst" : "Add an analyst", label: known ? "Change" : "Add",
    fields: [name, groups, role], said: known ? "Changed" : "Added", again,
    act: () => post("/v1/owner/analysts",
      { name: name.value, groups: listed(groups),
      ...(role.value === "owner" || known ? { role: role.value } : {}) }) });
}

export async function analysts({ signal }) {
  const load = async (again) => {
    const { analysts: all } = await get("/v1/owner/analysts", { signal });
    return [element("p", { class: "actions" }, button("Add an analyst …", () => add(again), { class: "primary" })),
      element("section", { "aria-label": "Analysts" },
        table("Analysts", [["Name"], ["Groups"], ["Role"], "Actions"], all.map((one) => [
        called(one.name), names(one.groups), one.role ?? "analyst",
        element("span", { class: "actions" },
          button("Change …", () => add(again, one), { "aria-label": `Change ${one.name}` }),
          element("a", { class: "button", href: to("owner/tokens", { analyst: one.name }),
          "aria-label": `Tokens of ${one.name}` }, "Tokens"))])))];
  };
  return { title: "Analysts", body: await living(load, signal) };
}
