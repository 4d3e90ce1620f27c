// What slides over a phone: a list to choose from, and M-Pesa's PIN prompt.
// While one is open the rest of that phone is inert; the rest of the page,
// the event log above all, stays usable.

import { arrows, el, icon } from "./dom.js";
import { money } from "./format.js";

// cover shows panel over the phone and returns a function that takes it away.
function cover(phone, panel) {
  const shade = el("div", { class: "shade" }, panel);
  phone.screen.append(shade);
  phone.body.inert = true;
  return () => {
    shade.remove();
    if (!phone.screen.querySelector(".shade")) phone.body.inert = false;
  };
}

let numbered = 0;

// openList shows the rows of a list message. choose is called with the row;
// close with nothing when it was closed without one.
export function openList(phone, message, choose, close) {
  const title = `sheet-${++numbered}`;
  const finish = (call, ...args) => {
    uncover();
    call(...args);
  };
  const row = (choice) => el("button", {
    type: "button", class: "row", data: { testid: "choice", choiceId: choice.id }, onclick: () => finish(choose, choice),
  }, el("span", { dir: "auto" }, choice.title), choice.description ? el("small", { dir: "auto" }, choice.description) : null);
  const rows = el("div", { class: "rows" }, ...message.list.flatMap((section) => [
    section.title ? el("h4", { dir: "auto" }, section.title) : null,
    ...section.rows.map(row),
  ].filter(Boolean)));
  const panel = el("div", {
    class: "sheet", role: "dialog", "aria-modal": "true", "aria-labelledby": title, data: { testid: "list-sheet" },
  },
  el("div", { class: "sheet-head" },
    el("button", { type: "button", class: "icon-button", "aria-label": "Close the list", onclick: () => finish(close) }, icon("close")),
    el("h3", { id: title, dir: "auto" }, message.list_button || "Choose")),
  rows);
  arrows(rows, ".row");
  panel.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      finish(close);
    }
  });
  const uncover = cover(phone, panel);
  panel.parentElement.addEventListener("click", (event) => {
    if (event.target === panel.parentElement) finish(close);
  });
  rows.querySelector(".row")?.focus();
  return uncover;
}

// openPin shows a payment prompt as a SIM card's menu does. answer is called
// with {pin} or {cancel: true} and returns a promise; the prompt stays until
// its owner removes it with the function returned.
export function openPin(phone, prompt, { takeFocus, answer }) {
  const title = `sheet-${++numbered}`;
  const fault = el("p", { class: "stk-fault", role: "alert" });
  const pin = el("input", {
    id: `${title}-pin`, class: "stk-pin", type: "password", inputmode: "numeric", autocomplete: "off", maxlength: "4",
    pattern: "[0-9]{4}", "aria-describedby": `${title}-hint`, data: { testid: "mpesa-pin" },
  });
  const ok = el("button", { data: { testid: "mpesa-ok" } }, "OK");
  const cancel = el("button", { type: "button", data: { testid: "mpesa-cancel" } }, "Cancel");
  const send = async (body) => {
    ok.disabled = cancel.disabled = true;
    try {
      await answer(body);
    } catch (cause) {
      fault.textContent = cause.message;
    }
    ok.disabled = cancel.disabled = false;
  };
  const question = prompt.text || `Do you want to pay ${money(prompt.amount)} to ${prompt.business}, account ${prompt.reference}?`;
  const form = el("form", { class: "stk-form", autocomplete: "off" },
    el("p", { id: `${title}-text` }, question),
    el("label", { for: `${title}-pin` }, "Enter M-PESA PIN"), pin,
    el("p", { id: `${title}-hint`, class: "stk-hint" }, "Simulated: any four digits pay, 0000 is wrong."),
    fault,
    el("div", { class: "stk-buttons" }, cancel, ok));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!/^[0-9]{4}$/.test(pin.value)) {
      fault.textContent = "The PIN has four digits.";
      pin.focus();
      return;
    }
    send({ pin: pin.value });
  });
  cancel.addEventListener("click", () => send({ cancel: true }));
  const panel = el("div", {
    class: "stk", role: "alertdialog", "aria-modal": "true", "aria-labelledby": title,
    "aria-describedby": `${title}-text`, data: { testid: "mpesa-dialog" },
  }, el("h3", { id: title }, "SIM Toolkit · M-PESA"), form);
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    send({ cancel: true });
  });
  const uncover = cover(phone, panel);
  if (takeFocus) pin.focus();
  return uncover;
}
