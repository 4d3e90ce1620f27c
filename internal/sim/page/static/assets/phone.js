// A phone with WhatsApp open on the business's chat. Both phones of the page
// are this; what differs is the number, and how eagerly it asks for messages.

import { arrows, coarse, el, icon, toast } from "./dom.js";
import { get, noteBug, post, repeat, rest } from "./api.js";
import { bubble, dayMark, setStatus } from "./bubble.js";
import { dayOf, initials } from "./format.js";
import { openList } from "./sheet.js";

const KEPT = 300; // messages on screen; older ones go
const MESSAGES = "/sim/whatsapp/messages";

export class Phone {
  // role is "customer" or "admin". wait is how many seconds one question for
  // new messages is held open; 0 asks every two seconds instead, which leaves
  // the browser's few connections free. onMessage hears of each new message.
  constructor(root, { role, owner, wait, suggestions, onMessage }) {
    Object.assign(this, { root, role, owner, wait, suggestions, onMessage });
    this.life = new AbortController();
    this.build();
  }

  build() {
    this.name = el("h3", { dir: "auto" });
    this.status = el("p", { class: "presence" });
    this.avatar = el("span", { class: "avatar", "aria-hidden": "true" });
    this.list = el("ol", {
      class: "chat", role: "log", "aria-live": "polite", "aria-label": `Chat on the ${this.owner}'s phone`, tabindex: "0",
      data: { testid: `${this.role}-messages` },
    });
    this.chips = el("div", { class: "chips", role: "group", "aria-label": "Suggestions" });
    arrows(this.chips, "button", ["ArrowDown", "ArrowRight"], ["ArrowUp", "ArrowLeft"]);
    this.box = el("textarea", {
      id: `${this.role}-box`, rows: "1", placeholder: "Message", "aria-label": `Message from the ${this.owner}`, dir: "auto",
      autocomplete: "off", data: { testid: `${this.role}-input` },
    });
    this.sendButton = el("button", {
      class: "send", "aria-label": `Send as the ${this.owner}`, data: { testid: `${this.role}-send` },
    }, icon("send"));
    const form = el("form", { class: "composer" }, this.box, this.sendButton);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.submit();
    });
    // The Enter that led here, from a link above, must not begin the message.
    this.box.addEventListener("beforeinput", (event) => {
      if (event.inputType === "insertLineBreak" && this.box.value === "") event.preventDefault();
    });
    this.body = el("div", { class: "phone-body" },
      el("header", { class: "phone-bar" }, this.avatar, el("div", {}, this.name, this.status)),
      this.list, this.chips, form);
    this.screen = el("div", { class: "screen" }, this.body);
    this.root.replaceChildren(this.screen);
  }

  // connect shows the chat between the person with phone and the tenant, from
  // its beginning. It is also how a phone starts again after a restart.
  connect(tenant, phone) {
    this.life.abort();
    this.life = new AbortController();
    Object.assign(this, { tenant, phone, after: 0, sending: 0, day: "", oldest: 0, ready: false });
    this.known = new Map(); // message id to its node
    this.texts = new Map(); // message id to its text, for quotes
    this.closeSheet?.();
    this.closeSheet = null;
    this.name.textContent = tenant.name;
    this.avatar.textContent = initials(tenant.name);
    this.list.replaceChildren(el("li", { class: "hint" },
      `A simulated phone, the ${this.owner}'s. What it writes goes to ${tenant.name} on this machine.`));
    this.showTyping(false);
    this.showChips();
    const { signal } = this.life;
    this.history(signal).catch(noteBug).then(() => {
      if (signal.aborted) return;
      this.ready = true;
      this.showChips();
      repeat(() => this.receive(signal), this.wait ? 0 : 2000, signal);
      repeat(() => this.refresh(signal), 1000, signal);
    });
  }

  query(more = {}) {
    return { phone: this.phone, number: this.tenant.number, ...more };
  }

  async history(signal) {
    this.list.setAttribute("aria-busy", "true");
    try {
      const [received, state] = await Promise.all([
        get(MESSAGES, this.query({ after: 0 }), signal), get("/sim/whatsapp/state", this.query(), signal),
      ]);
      if (signal.aborted) return;
      const all = [...received.map((m) => ({ ...m, dir: "in" })), ...state.sent.filter(visible).map((m) => ({ ...m, dir: "out" }))];
      all.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
      for (const message of all.slice(-KEPT)) this.show(message);
      for (const message of received) this.after = Math.max(this.after, message.seq);
      this.applyState(state);
    } finally {
      if (!signal.aborted) this.list.removeAttribute("aria-busy");
    }
  }

  async receive(signal) {
    const received = await get(MESSAGES, this.query({ after: this.after, wait: this.wait }), signal);
    if (signal.aborted) return;
    for (const message of received) {
      this.after = Math.max(this.after, message.seq);
      if (this.known.has(message.id)) continue;
      this.showTyping(false);
      this.show({ ...message, dir: "in" });
      this.onMessage?.(message);
    }
    // An answer that came at once although it was asked to wait is no reason to
    // ask again without a breath.
    if (this.wait && received.length === 0) await rest(200, signal);
  }

  // poke asks now for what the phone would learn within a second or two.
  poke() {
    if (!this.ready) return;
    const { signal } = this.life;
    this.refresh(signal).catch(noteBug);
    if (!this.wait) this.receive(signal).catch(noteBug);
  }

  async refresh(signal) {
    const state = await get("/sim/whatsapp/state", this.query(), signal);
    if (!signal.aborted) this.applyState(state);
  }

  applyState(state) {
    this.showTyping(Boolean(state.typing_until));
    for (const sent of state.sent.slice(-KEPT).filter(visible)) {
      const node = this.known.get(sent.id);
      if (node) setStatus(node, statusOf(sent));
      // While a message of this page is on its way its id is not known yet.
      else if (this.sending === 0 && Date.parse(sent.at) > this.oldest) this.show({ ...sent, dir: "out" });
    }
  }

  show(message) {
    const follow = message.dir === "out" || this.atEnd();
    const day = dayOf(message.at);
    if (day && day !== this.day) {
      this.day = day;
      this.list.append(dayMark(message.at));
    }
    this.texts.set(message.id, message.text ?? "");
    const quote = message.quote ?? this.texts.get(message.reply_to);
    const status = message.dir === "out" ? message.local ?? statusOf(message) : null;
    const node = bubble({ ...message, quote, status }, {
      tap: (...args) => this.tap(...args), open: (...args) => this.open(...args), share: (...args) => this.share(...args),
    });
    this.known.set(message.id, node);
    this.list.append(node);
    if (this.dots) this.list.append(this.dots);
    this.prune();
    this.showChips();
    if (follow) this.toEnd();
    return node;
  }

  // Somebody who reads further up stays there when messages come.
  atEnd() {
    return this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight < 60;
  }

  toEnd() {
    this.list.scrollTop = this.list.scrollHeight;
  }

  prune() {
    while (this.known.size > KEPT) {
      const [id, node] = this.known.entries().next().value;
      this.oldest = Math.max(this.oldest, Date.parse(node.querySelector("time")?.dateTime) || 0);
      node.remove();
      this.known.delete(id);
      this.texts.delete(id);
    }
    for (const mark of [...this.list.querySelectorAll(".day + .day")]) mark.previousElementSibling.remove();
  }

  showTyping(on) {
    this.status.textContent = on ? "typing…" : "online";
    if (on && !this.dots) {
      this.dots = el("li", { class: "message in typing", "aria-hidden": "true", data: { testid: `${this.role}-typing` } },
        el("div", { class: "bubble" }, el("i"), el("i"), el("i")));
      const follow = this.atEnd();
      this.list.append(this.dots);
      if (follow) this.toEnd();
    } else if (!on && this.dots) {
      this.dots.remove();
      this.dots = null;
    }
  }

  showChips() {
    const wanted = this.ready && this.known.size === 0 ? this.suggestions?.(this.tenant) ?? [] : [];
    this.chips.hidden = wanted.length === 0;
    this.chips.replaceChildren(...wanted.map(({ lang, text }) =>
      el("button", { type: "button", class: "chip", lang, data: { testid: "suggestion" }, onclick: () => this.send({ text }, text) }, text)));
  }

  focusBox() {
    if (!coarse()) this.box.focus();
  }

  submit() {
    const text = this.box.value;
    this.box.focus();
    if (!text.trim()) return;
    this.box.value = "";
    this.send({ text }, text);
  }

  // send puts content on its way and shows it at once as text.
  async send(content, text, quote) {
    if (!this.tenant) return;
    const { signal } = this.life;
    const local = `local-${crypto.randomUUID?.() ?? Math.random()}`;
    const node = this.show({ id: local, dir: "out", at: this.now(), type: "text", text, quote, local: "pending" });
    this.sending++;
    if (this.list.contains(document.activeElement) || this.chips.hidden) this.focusBox();
    try {
      const { id, status } = await post("/sim/whatsapp/inbound", { from: this.phone, to: this.tenant.number, ...content });
      if (signal.aborted) return;
      this.rename(local, id, node);
      setStatus(node, statusOf({ status }));
    } catch (cause) {
      if (signal.aborted) return;
      this.failed(node, local, content, text, quote, cause);
    } finally {
      if (!signal.aborted) this.sending--;
    }
    this.poke();
  }

  rename(from, to, node) {
    this.known.delete(from);
    this.texts.set(to, this.texts.get(from));
    this.texts.delete(from);
    this.known.set(to, node);
    node.dataset.id = to;
  }

  failed(node, local, content, text, quote, cause) {
    setStatus(node, "failed");
    noteBug(cause);
    toast(`Not sent. ${cause.message}`);
    const again = el("button", { type: "button", class: "retry", data: { testid: "retry" } }, "Send again");
    again.addEventListener("click", () => {
      node.remove();
      this.known.delete(local);
      this.send(content, text, quote);
    });
    node.append(again);
  }

  tap(message, kind, choice, node) {
    if (node) {
      node.disabled = true;
      node.classList.add("chosen");
    }
    this.focusBox();
    this.send({ [kind]: { id: choice.id, title: choice.title }, reply_to: message.id }, choice.title, message.text ?? "");
  }

  open(message, opener) {
    this.closeSheet?.();
    this.closeSheet = openList(this, message,
      (choice) => {
        this.closeSheet = null;
        this.tap(message, "list", choice);
      },
      () => {
        this.closeSheet = null;
        opener.focus();
      });
  }

  share(message, node) {
    node.disabled = true;
    const contact = { name: this.owner, phone: this.phone };
    this.focusBox();
    this.send({ contact, reply_to: message.id }, `My number: ${this.phone}`, message.text ?? "");
  }
}

// A message that edits, revokes or reacts is no bubble of its own here.
const visible = (sent) => !["edit", "revoke", "reaction"].includes(sent.type);

// statusOf turns what the simulator knows of one's own message into ticks: the
// product's HTTP answer to its webhook, and whether the business has read it.
function statusOf({ read, status }) {
  if (read) return "read";
  if (status === 200) return "delivered";
  return status >= 400 && status < 500 ? "failed" : "sent";
}
