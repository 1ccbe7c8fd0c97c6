/** The page: who is signed in, and which view the address names. */
import { drawShell, markWay } from "./base/shell.js";
import { ask, get, useSession, whenSignedOut } from "./base/service.js";
import { here, show } from "./base/router.js";
import { Problem } from "./base/problem.js";
import { signIn } from "./views/sign-in.js";
import { VIEWS } from "./views/all.js";
import { forgetJobs } from "./views/jobs.js";

let session = null;
let first = true;
let notice = null;

function enter(found) {
  session = found;
  useSession(found?.csrf);
  drawShell(session, signOut);
  render();
}

async function signOut() {
  try {
    await ask("DELETE", "/v1/session");
  } catch {
    // An expired session is as good as one that was ended
  }
  forgetJobs();
  notice = null;
  enter(null);
}

const missing = async () => { throw new Problem(404); };

function render() {
  const { name, query } = here();
  const start = session?.role === "owner" ? "owner/approvals" : "tables";
  const wanted = name || start;
  markWay(wanted);
  const view = session ? VIEWS[wanted] ?? missing
    : signIn({ notice, entered: (found) => { notice = null; enter(found); } });
  show(wanted.startsWith("owner/") && session && session.role !== "owner" ? missing : view, { query, session }, !first);
  first = false;
}

whenSignedOut((problem) => {
  if (!session) return;
  notice = problem;
  enter(null);
});
window.addEventListener("hashchange", render);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address names the view, and not a place in it
  document.getElementById("main").focus();
});

try {
  enter(await get("/v1/session"));
} catch (error) {
  notice = error instanceof Problem && error.status === 401 ? null : error;
  enter(null);
}
