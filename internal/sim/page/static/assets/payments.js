// M-Pesa prompts of the customer's phone.

import { toast } from "./dom.js";
import { get, noteBug, post, repeat } from "./api.js";
import { openPin } from "./sheet.js";

export class Payments {
  constructor(phone, { onPrompt }) {
    this.phone = phone;
    this.onPrompt = onPrompt;
    this.life = new AbortController();
  }

  // connect watches the prompts of another number.
  connect(number) {
    this.life.abort();
    this.life = new AbortController();
    this.number = number;
    this.close();
    const { signal } = this.life;
    repeat(() => this.look(signal), 1000, signal);
  }

  poke() {
    if (this.number) this.look(this.life.signal).catch(noteBug);
  }

  async look(signal) {
    const prompts = await get("/sim/daraja/prompts", { phone: this.number }, signal);
    if (signal.aborted) return;
    const prompt = prompts.find((p) => !p.state || p.state === "waiting");
    if (this.shown && prompt?.id !== this.shown) this.close();
    if (prompt && !this.shown && prompt.id !== this.answered) this.open(prompt);
  }

  open(prompt) {
    this.shown = prompt.id;
    const active = document.activeElement;
    // Somebody who writes elsewhere keeps the keyboard.
    const takeFocus = !active || active === document.body || this.phone.root.contains(active);
    this.uncover = openPin(this.phone, prompt, { takeFocus, answer: (body) => this.answer(body) });
    this.onPrompt();
  }

  close() {
    const had = this.phone.screen.querySelector(".stk")?.contains(document.activeElement);
    this.uncover?.();
    this.uncover = null;
    this.shown = null;
    if (had) this.phone.focusBox();
  }

  // answer sends the PIN or the refusal. What the phone says afterwards is
  // told; a refusal is thrown, with its sentence.
  async answer(body) {
    const { shown, number } = this;
    const result = await post("/sim/daraja/pin", { phone: number, ...body });
    this.answered = shown;
    if (this.shown === shown) this.close();
    toast(outcome(body, result));
  }
}

function outcome(body, result) {
  if (body.cancel) return "Payment declined.";
  if (result?.receipt) return `M-PESA: paid. Receipt ${result.receipt}.`;
  if (result?.result_code) return "M-PESA: not paid. The PIN was wrong.";
  return "M-PESA: the PIN was sent.";
}
