// One message of a chat as WhatsApp would show it.

import { el, icon } from "./dom.js";
import { dayName, hourMinute, rich } from "./format.js";

const ticks = {
  pending: ["clock", "Being sent"],
  sent: ["sent", "Sent"],
  delivered: ["double", "Delivered"],
  read: ["double", "Read"],
  failed: ["failed", "Not delivered"],
};

const kinds = { image: "Photo", audio: "Voice message", video: "Video", document: "Document", sticker: "Sticker" };

// setStatus draws the ticks of one's own message.
export function setStatus(node, status) {
  const box = node.querySelector(".ticks");
  if (!box || node.dataset.status === status) return;
  node.dataset.status = status;
  const [shape, label] = ticks[status];
  box.replaceChildren(icon(shape, label));
}

// dayMark separates the days of a chat.
export const dayMark = (at) => el("li", { class: "day" }, el("span", {}, dayName(at)));

// choiceButton is one reply button or list row.
export function choiceButton(choice, onclick, className = "choice") {
  return el("button", { type: "button", class: className, data: { testid: "choice", choiceId: choice.id }, onclick },
    icon("reply"), el("span", { dir: "auto" }, choice.title));
}

// safeLink returns an address people may follow, or null.
function safeLink(address) {
  try {
    const url = new URL(address);
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : null;
  } catch {
    return null;
  }
}

function attachment(message) {
  if (message.media) {
    const name = message.media.filename || kinds[message.type] || "File";
    return el("p", { class: "attachment" }, icon("file"), el("span", {}, name));
  }
  if (message.location) {
    const { name, address, latitude, longitude } = message.location;
    const where = [name, address].filter(Boolean).join(", ") || `${latitude}, ${longitude}`;
    return el("p", { class: "attachment" }, icon("place"), el("span", {}, where));
  }
  return null;
}

function cards(message) {
  return (message.contacts ?? []).map((card) =>
    el("p", { class: "attachment" }, icon("person"), el("span", {}, [card.name, ...(card.phones ?? [])].join(" "))));
}

// actions are the tappable parts below a bubble.
function actions(message, act) {
  const buttons = message.buttons ?? message.template?.buttons ?? [];
  const out = buttons.map((choice) => {
    const node = choiceButton(choice, () => act.tap(message, "button", choice, node));
    return node;
  });
  if (message.list?.length) {
    const title = message.list_button || "Choose";
    const node = el("button", {
      type: "button", class: "choice", "aria-haspopup": "dialog", data: { testid: "open-list" },
      onclick: () => act.open(message, node),
    }, icon("list"), el("span", { dir: "auto" }, title));
    out.push(node);
  }
  if (message.type === "contact_request") {
    const node = el("button", {
      type: "button", class: "choice", data: { testid: "share-contact" }, onclick: () => act.share(message, node),
    }, icon("person"), el("span", {}, "Share my number"));
    out.push(node);
  }
  const href = message.link && safeLink(message.link.url);
  if (href) {
    out.push(el("a", { class: "choice", href, target: "_blank", rel: "noopener noreferrer" },
      icon("link"), el("span", { dir: "auto" }, message.link.title)));
  }
  return out;
}

// bubble draws message, which has dir "in" or "out". act carries what taps do.
export function bubble(message, act) {
  const own = message.dir === "out";
  const box = el("div", { class: "bubble", dir: "auto" });
  box.append(el("span", { class: "sr", dir: "ltr" }, own ? "You: " : "Business: "));
  if (message.quote) box.append(el("p", { class: "quote", dir: "auto" }, message.quote));
  if (message.header) box.append(el("p", { class: "bubble-header", dir: "auto" }, ...rich(message.header)));
  const extra = attachment(message);
  if (extra) box.append(extra);
  box.append(...cards(message));
  const text = message.text ?? fallback(message);
  if (text) box.append(el("p", { class: "text" }, ...rich(text)));
  if (message.footer) box.append(el("p", { class: "footer", dir: "auto" }, message.footer));
  if (message.template) box.append(el("p", { class: "footer" }, `Template ${message.template.name}, ${message.template.language}`));
  box.append(el("span", { class: "meta" },
    el("time", { datetime: message.at }, hourMinute(message.at)), own ? el("span", { class: "ticks" }) : null));
  const node = el("li", {
    class: `message ${own ? "out" : "in"}`, data: { id: message.id, testid: own ? "message-out" : "message-in" },
  }, box);
  const taps = own ? [] : actions(message, act);
  if (taps.length) {
    node.append(el("div", { class: "choices", role: "group", "aria-label": "Replies" }, ...taps));
  }
  if (own) setStatus(node, message.status ?? "sent");
  return node;
}

// fallback says in words what has no text of its own.
function fallback(message) {
  if (message.template) {
    return (message.template.parameters ?? []).join(" · ") || message.template.name;
  }
  if (message.reaction) return message.reaction.emoji || "Reaction removed";
  if (message.media || message.location || message.contacts?.length || message.link) return "";
  return message.type === "text" ? "" : `(${message.type ?? "empty"})`;
}
