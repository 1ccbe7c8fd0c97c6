/** Requests to /v1. The session is a cookie that scripts cannot read; what changes something also sends its CSRF word. */
import { Problem } from "./problem.js";

let csrf = "";
let onSignedOut = () => {};

export const useSession = (word) => { csrf = word ?? ""; };
export const whenSignedOut = (act) => { onSignedOut = act; };

/** A path under /v1 from parts and a query; a name with slashes or marks stays one part. */
export function path(...parts) {
  const query = typeof parts.at(-1) === "object" ? parts.pop() : {};
  const given = Object.entries(query).filter(([, wanted]) => wanted !== undefined && wanted !== null && wanted !== "");
  const asked = new URLSearchParams(given.flatMap(([name, wanted]) =>
    [wanted].flat().map((one) => [name, String(one)])));
  return `/v1/${parts.map((part) => encodeURIComponent(part)).join("/")}${given.length ? `?${asked}` : ""}`;
}

/** A word that nobody guesses, made once for each thing that is paid for. */
export function freshKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function parsed(response) {
  if (response.status === 204) return null;
  try {
    return await response.json();
  } catch {
    return { detail: response.ok ? "the answer was not JSON" : "" };
  }
}

/** Ask the service; returns what it says, and throws a Problem where it refuses. */
export async function ask(method, where, { body, key, signal } = {}) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET") headers["X-CSRF"] = csrf;
  if (key) headers["Idempotency-Key"] = key;
  let response;
  try {
    response = await fetch(where, {
      method, headers, signal, credentials: "same-origin", cache: "no-store",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0);
  }
  const said = await parsed(response);
  if (response.ok) return said;
  const problem = new Problem(response.status, said ?? {});
  if (response.status === 401 && where !== "/v1/session") onSignedOut(problem);
  throw problem;
}

export const get = (where, options) => ask("GET", where, options);
export const post = (where, body, options) => ask("POST", where, { ...options, body });

/** Wait so many milliseconds, or until the signal aborts. */
export const pause = (milliseconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, milliseconds);
  signal?.addEventListener("abort", () => { clearTimeout(timer); reject(new DOMException("left", "AbortError")); },
    { once: true });
});
