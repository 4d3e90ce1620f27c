// The product's clock: shown, kept ticking between questions, moved on demand.

import { byId, toast } from "./dom.js";
import { get } from "./api.js";
import { clockFace } from "./format.js";

export class Clock {
  offset = 0; // the product's time less the browser's, ms

  now() {
    return new Date(Date.now() + this.offset);
  }

  async refresh() {
    const asked = Date.now();
    const { now } = await get("/sim/clock");
    const at = Date.parse(now);
    if (Number.isFinite(at)) this.offset = at - (asked + Date.now()) / 2;
    this.draw();
  }

  draw() {
    const now = this.now();
    const node = byId("clock-now");
    node.textContent = clockFace(now);
    node.dateTime = now.toISOString();
  }

  // wire makes the buttons call move with a number of seconds.
  wire(move) {
    setInterval(() => this.draw(), 1000);
    for (const button of document.querySelectorAll("[data-advance]")) {
      button.addEventListener("click", async () => {
        try {
          await move(Number(button.dataset.advance));
          await this.refresh();
          toast(`The clock moved: it is ${clockFace(this.now())}.`);
        } catch (cause) {
          toast(`The clock did not move. ${cause.message}`);
        }
      });
    }
  }
}
