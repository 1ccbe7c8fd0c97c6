/** What stands around every view: the name, the ways to the views, who is signed in. */
import { called, element } from "./elements.js";
import { button } from "./blocks.js";

const WAYS = [["tables", "Tables"], ["plan", "Plan and release"], ["releases", "Releases"], ["ask", "Ask"],
  ["budgets", "Budgets"], ["meaning", "What ε means"]];
const OWNERS = [["owner/approvals", "Approvals"], ["owner/tables", "Registered tables"],
  ["owner/analysts", "Analysts"], ["owner/tokens", "Tokens"], ["owner/budgets", "All budgets"],
  ["owner/trail", "Trail"]];
// Views that belong to a way without having one of their own
const UNDER = { table: "tables", release: "releases", job: "releases", "owner/budget": "owner/budgets" };

const list = (ways) => element("ul", {},
  ways.map(([name, label]) => element("li", {}, element("a", { href: `#/${name}`, "data-way": name }, label))));

export function drawShell(session, signOut) {
  const top = document.getElementById("top");
  document.body.classList.toggle("outside", !session);
  const brand = element("a", { class: "brand", href: "#/" }, "discreet");
  if (!session) return top.replaceChildren(brand);
  const menu = button("Menu", () => open(menu.getAttribute("aria-expanded") !== "true"),
    { class: "menu", "aria-expanded": "false", "aria-controls": "ways" });
  const ways = element("nav", { id: "ways", "aria-label": "Views" }, list(WAYS),
    session.role === "owner" ? [element("p", { class: "group", id: "owner-ways" }, "Owner"), list(OWNERS)] : null,
    element("div", { class: "who" },
      element("p", {}, "Signed in as ", called(session.name, 40), session.role === "owner" ? " (owner)" : ""),
      button("Sign out", signOut)));
  function open(wanted) {
    menu.setAttribute("aria-expanded", String(wanted));
    ways.classList.toggle("open", wanted);
  }
  ways.addEventListener("click", (event) => { if (event.target.closest("a")) open(false); });
  ways.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && ways.classList.contains("open")) { open(false); menu.focus(); }
  });
  return top.replaceChildren(brand, menu, ways);
}

/** Mark the way to the view that is shown. */
export function markWay(name) {
  for (const way of document.querySelectorAll("[data-way]")) {
    if (way.dataset.way === (UNDER[name] ?? name)) way.setAttribute("aria-current", "page");
    else way.removeAttribute("aria-current");
  }
}
