// The simulated Slack channel: cards as they stand, and buttons to tap.

import { Refused, get, noteBug, post, repeat } from "./api.js";

const list = document.getElementById("messages");
const told = document.getElementById("told");
const who = document.getElementById("who");
const shown = new Map();
let after = 0;

function element(name, kind, text = "") {
  const e = document.createElement(name);
  e.className = kind;
  e.textContent = text;
  return e;
}

// plain is mrkdwn as people read it: its escapes undone, its marks left as they are.
const plain = (text) => text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

const read = (text) => (text.type === "mrkdwn" ? plain(text.text) : text.text);

async function tap(message, button) {
  const name = who.value.trim() || "kamau";
  try {
    const answer = await post("/sim/slack/tap", {
      ts: message.ts, button: button.action_id, name, user: `U0${name.toUpperCase().replace(/[^A-Z0-9]/g, "")}`,
    });
    told.textContent = answer.status === 200 ? "" : `The product answered ${answer.status || answer.error}.`;
  } catch (cause) {
    noteBug(cause);
    told.textContent = cause instanceof Refused ? cause.message : "The demo is not answering.";
  }
}

function draw(message, block) {
  switch (block.type) {
    case "header":
      return element("h2", "header", block.text.text);
    case "actions": {
      const row = element("div", "actions");
      for (const button of block.elements) {
        const b = element("button", "tap", button.text.text);
        b.type = "button";
        b.addEventListener("click", () => tap(message, button));
        row.append(b);
      }
      return row;
    }
    default:
      return element("p", block.type, block.text ? read(block.text) : block.elements.map(read).join(" "));
  }
}

function show(message) {
  const item = element("li", message.to ? "whisper" : "message");
  item.dataset.ts = message.ts;
  if (message.to) item.append(element("p", "about", `Only ${message.to} sees this:`), element("p", "section", plain(message.text)));
  for (const block of message.blocks ?? []) item.append(draw(message, block));
  const before = shown.get(message.ts);
  if (before) before.replaceWith(item);
  else list.append(item);
  shown.set(message.ts, item);
  document.getElementById("empty").hidden = true;
}

async function step(signal) {
  for (const message of await get("/sim/slack/messages", { after, wait: 25 }, signal)) {
    after = Math.max(after, message.seq);
    show(message);
  }
}

const end = new AbortController();
addEventListener("pagehide", () => end.abort());
repeat(() => step(end.signal), 0, end.signal);
