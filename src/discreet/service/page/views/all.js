/** Every view by its name in the address. */
import { budgets } from "./budgets.js";
import { ask } from "./ask.js";
import { job } from "./jobs.js";
import { meaning } from "./meaning.js";
import { plan } from "./plan.js";
import { release } from "./release.js";
import { releases } from "./releases.js";
import { table, tables } from "./tables.js";
import { analysts } from "../owner/analysts.js";
import { approvals } from "../owner/approvals.js";
import { allBudgets } from "../owner/budgets.js";
import { registered } from "../owner/tables.js";
import { tokens } from "../owner/tokens.js";
import { trail } from "../owner/trail.js";

export const VIEWS = {
  tables, table, plan, releases, release, job, ask, budgets, meaning,
  "owner/approvals": approvals, "owner/tables": registered, "owner/analysts": analysts,
  "owner/tokens": tokens, "owner/budgets": allBudgets, "owner/trail": trail,
};
