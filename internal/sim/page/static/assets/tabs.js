// On a narrow screen one of the three panels is seen at a time; on a wide one
// all of them are, and the tabs are gone.

import { arrows, byId } from "./dom.js";

const names = ["customer", "admin", "log"];
const wide = matchMedia("(min-width: 1060px)");
let current = "customer";

const tab = (name) => byId(`tab-${name}`);

function draw() {
  for (const name of names) {
    const panel = byId(`panel-${name}`);
    const chosen = name === current;
    panel.hidden = !wide.matches && !chosen;
    panel.setAttribute("role", wide.matches ? "region" : "tabpanel");
    panel.setAttribute("aria-labelledby", wide.matches ? `title-${name}` : `tab-${name}`);
    tab(name).setAttribute("aria-selected", String(chosen));
    tab(name).tabIndex = chosen ? 0 : -1;
  }
  const chat = byId(`panel-${current}`).querySelector(".chat, #event-log");
  if (chat) chat.scrollTop = chat.scrollHeight;
}

function select(name) {
  current = name;
  clearBadge(name);
  draw();
}

function clearBadge(name) {
  const mark = tab(name).querySelector(".badge");
  if (!mark) return;
  mark.hidden = true;
  mark.textContent = "";
}

// badge marks a tab that is not looked at: with a word, or with how many
// messages came.
export function badge(name, word = "") {
  const mark = tab(name).querySelector(".badge");
  if (wide.matches || name === current || !mark) return;
  mark.hidden = false;
  mark.textContent = word || (Number(mark.textContent) || 0) + 1;
}

export function wireTabs() {
  for (const name of names) {
    tab(name).addEventListener("click", () => select(name));
    tab(name).addEventListener("focus", () => current !== name && select(name));
  }
  arrows(document.querySelector(".tabs"), "[role=tab]", ["ArrowRight"], ["ArrowLeft"]);
  wide.addEventListener("change", draw);
  draw();
}
