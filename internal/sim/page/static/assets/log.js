// The product's event log: one line per event, newest last, details on demand.

import { byId, el } from "./dom.js";
import { dollars, millis, withMillis } from "./format.js";

const KEPT = 500; // rows on screen; older ones go
const HELD = 500; // events kept while paused; older ones are only counted
const PATIENCE = 3000; // before a broken stream is opened anew, ms

// hash spreads names over n shades, always the same way.
function hash(text, n) {
  let sum = 0;
  for (const char of String(text)) sum = (sum * 31 + char.codePointAt(0)) % 9973;
  return sum % n;
}

// severity reads what is wrong from the level or the event's name.
function severity(event) {
  const name = event.event_type ?? "";
  if (/^error$/i.test(event.level ?? "") || /fail|error|hard_breach/.test(name)) return "bad";
  if (/^warn/i.test(event.level ?? "") || /conflict|breach|retry|expired|refused|handoff|superseded/.test(name)) return "warn";
  if (name === "llm.call" && event.outcome && event.outcome !== "ok") return "warn";
  return "";
}

export class Log {
  // onEvent hears of every event, onReturn of a stream that came back.
  constructor({ onEvent, onReturn }) {
    Object.assign(this, { onEvent, onReturn, broken: false });
    this.rows = byId("event-log");
    this.filter = byId("log-filter");
    this.pauseButton = byId("log-pause");
    this.latest = byId("log-latest");
    this.seen = new Set(); // lines on screen, so that a reconnect repeats none
    this.held = [];
    this.dropped = 0;
    this.clear();
    this.pauseButton.addEventListener("click", () => this.pause(!this.paused));
    byId("log-clear").addEventListener("click", () => this.clear());
    this.filter.addEventListener("input", () => this.refilter());
    this.filter.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !this.filter.value) return;
      this.filter.value = "";
      this.refilter();
    });
    this.latest.addEventListener("click", () => this.toEnd());
    this.rows.addEventListener("scroll", () => {
      this.latest.hidden = this.atEnd();
    });
  }

  // open listens until the page goes. The browser reconnects by itself after a
  // dropped connection but not after a refusal, so this does.
  open() {
    this.source?.close();
    const source = new EventSource("/sim/events");
    this.source = source;
    source.addEventListener("open", () => {
      if (this.broken) this.onReturn();
      this.broken = false;
    });
    source.addEventListener("message", ({ data }) => this.take(data));
    source.addEventListener("error", () => {
      this.broken = true;
      if (source.readyState !== EventSource.CLOSED) return;
      // Refused: simulators alone have no product whose events to tell.
      if (this.count === 0) byId("log-summary").textContent = "No event log here.";
      setTimeout(() => this.open(), PATIENCE);
    });
  }

  take(line) {
    let event;
    try {
      event = JSON.parse(line);
    } catch {
      return;
    }
    if (event === null || typeof event !== "object" || this.seen.has(line)) return;
    this.remember(line);
    this.onEvent(event);
    if (this.paused) {
      this.held.push({ event, line });
      if (this.held.length > HELD) {
        this.held.shift();
        this.dropped++;
      }
      this.tell();
      return;
    }
    this.add(event);
  }

  remember(line) {
    this.seen.add(line);
    if (this.seen.size > 2 * KEPT) this.seen.delete(this.seen.values().next().value);
  }

  add(event) {
    const stick = this.atEnd();
    const node = row(event);
    node.hidden = !this.matches(node);
    this.rows.append(node);
    while (this.rows.childElementCount > KEPT) this.rows.firstElementChild.remove();
    this.count++;
    if (event.model && Number.isFinite(Number(event.cost_usd))) {
      this.calls++;
      this.cost += Number(event.cost_usd);
    }
    this.tell();
    if (stick) this.toEnd();
    else this.latest.hidden = false;
  }

  tell() {
    const parts = [`${this.count.toLocaleString("en-GB")} ${this.count === 1 ? "event" : "events"}`];
    if (this.calls) parts.push(`${this.calls} model ${this.calls === 1 ? "call" : "calls"}, ${dollars(this.cost)}`);
    if (this.held.length) parts.push(`${this.held.length + this.dropped} waiting`);
    byId("log-summary").textContent = parts.join(" · ");
  }

  pause(on) {
    this.paused = on;
    this.pauseButton.setAttribute("aria-pressed", String(on));
    this.pauseButton.textContent = on ? "Resume" : "Pause";
    if (on) return;
    const held = this.held;
    this.held = [];
    this.dropped = 0;
    for (const { event } of held) this.add(event);
    this.tell();
  }

  clear() {
    this.rows.replaceChildren();
    this.count = this.calls = this.cost = 0;
    this.latest.hidden = true;
    this.tell();
  }

  matches(node) {
    return this.filter.value.toLowerCase().split(/\s+/).every((word) => node.dataset.search.includes(word));
  }

  refilter() {
    for (const node of this.rows.children) node.hidden = !this.matches(node);
    this.toEnd();
  }

  atEnd() {
    return this.rows.scrollHeight - this.rows.scrollTop - this.rows.clientHeight < 40;
  }

  toEnd() {
    this.rows.scrollTop = this.rows.scrollHeight;
    this.latest.hidden = true;
  }
}

// row draws one event. Its details are made when they are first looked at.
function row(event) {
  const name = String(event.event_type ?? event.msg ?? "event");
  const [family, ...more] = name.split(".");
  const cell = (className, text) => el("span", { class: className }, text);
  const [time, fraction] = withMillis(event.time).split(".");
  const summary = el("summary", {},
    el("span", { class: "time" }, time, fraction ? el("span", { class: "fraction" }, `.${fraction}`) : null),
    el("span", { class: "event" }, el("b", {}, family), more.length ? `.${more.join(".")}` : ""),
    cell("stage", String(event.stage ?? event.role ?? event.tool ?? event.kind ?? "")),
    cell("num", millis(event.duration_ms ?? event.latency_ms)),
    cell("num", dollars(event.cost_usd)));
  const details = el("details", {}, summary);
  details.addEventListener("toggle", () => {
    if (details.childElementCount === 1) {
      details.append(el("pre", { tabindex: "0", "aria-label": "The whole event" }, JSON.stringify(event, null, 2)));
    }
  }, { once: true });
  const turn = event.turn_id || event.conversation_id;
  return el("li", {
    class: ["entry", severity(event)].filter(Boolean).join(" "),
    data: { event: name, shade: turn ? hash(turn, 6) : "none", search: JSON.stringify(event).toLowerCase() },
  }, details);
}
