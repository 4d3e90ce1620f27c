// The panel that makes the outside world fail.

import { byId, toast } from "./dom.js";
import { post } from "./api.js";

const label = (form) => form.querySelector("select").selectedOptions[0].textContent;

// arm posts what the form says and tells it in words.
function arm(id, path, body, tell) {
  const form = byId(id);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await post(path, body(form.querySelector("select").value));
      toast(`${tell}: ${label(form)}.`);
    } catch (cause) {
      toast(`Not set. ${cause.message}`);
    }
  });
}

// wireFaults connects the panel; phone returns the customer's number.
export function wireFaults({ phone }) {
  arm("fault-mpesa", "/sim/daraja/next", (outcome) => ({ phone: phone(), outcome, delay_ms: 1500 }), "Next M-Pesa prompt");
  arm("fault-whatsapp", "/sim/whatsapp/next", (value) => {
    const [code, mode = "http"] = value.split("/");
    return { phone: phone(), code: Number(code), mode, times: 1 };
  }, "Next message to the customer");
  arm("fault-model", "/sim/llm/next", (fault) => ({ fault, times: 1 }), "Next model call");

  const panel = byId("faults");
  const toggle = byId("faults-toggle");
  const show = (open) => {
    panel.hidden = !open;
    toggle.setAttribute("aria-expanded", String(open));
    if (open) panel.querySelector("select").focus();
  };
  toggle.addEventListener("click", () => show(panel.hidden));
  panel.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    show(false);
    toggle.focus();
  });
}
