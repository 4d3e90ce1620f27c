// The JSON face under /sim/, and whether it answers.

const listeners = { down: [], back: [] };
let answering = true;

// onDown and onBack are called when the demo stops and resumes answering.
export const onDown = (call) => listeners.down.push(call);
export const onBack = (call) => listeners.back.push(call);

// reach notes whether the demo answered; other modules tell it what they saw.
export function reach(ok) {
  if (ok === answering) return;
  answering = ok;
  for (const call of ok ? listeners.back : listeners.down) call();
}

// Refused is an answer that says no, with a sentence for people.
export class Refused extends Error {}

// Unreachable is no answer, or one that broke off.
export class Unreachable extends Error {}

// noteBug puts what should not happen on the console: anything but an answer
// that says no, no answer, and a question that was withdrawn.
export function noteBug(cause) {
  const usual = cause instanceof Refused || cause instanceof Unreachable || cause.name === "AbortError";
  if (!usual) console.error(cause);
}

function unreachable(cause) {
  if (cause.name === "AbortError") return cause;
  reach(false);
  return new Unreachable("The demo is not answering.", { cause });
}

async function request(path, init) {
  let response;
  let body = null;
  try {
    response = await fetch(path, { cache: "no-store", ...init });
    if (response.ok) body = await response.json();
  } catch (cause) {
    throw unreachable(cause);
  }
  if (response.ok) {
    reach(true);
    return body;
  }
  // A proxy or a stopping server answers 502 and 503; that is not an answer.
  reach(response.status !== 502 && response.status !== 503);
  const told = await response.json().catch(() => null);
  throw new Refused(told?.error?.message ?? `The demo answered ${response.status}.`);
}

export const get = (path, query = {}, signal = undefined) =>
  request(`${path}?${new URLSearchParams(query)}`, { signal });

export const post = (path, body) =>
  request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

// rest waits, and wakes early when signal aborts.
export function rest(ms, signal) {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve();
      return;
    }
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
  });
}

// shown waits until somebody can see the page. A browser allows six
// connections to one origin, and a hidden page should not hold any of them.
export function shown() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    document.addEventListener("visibilitychange", resolve, { once: true });
  }).then(shown);
}

// repeat runs step again and again while the page is seen, until signal aborts.
// After a failure it waits longer each time, up to five seconds.
export async function repeat(step, pause, signal) {
  let failures = 0;
  while (!signal.aborted) {
    await shown();
    if (signal.aborted) return;
    try {
      await step();
      failures = 0;
    } catch (cause) {
      if (signal.aborted) return;
      noteBug(cause);
      failures++;
    }
    await rest(failures ? Math.min(500 * 2 ** (failures - 1), 5000) : pause, signal);
  }
}
