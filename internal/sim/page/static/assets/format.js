// How things are written: WhatsApp's marks, times, money.

const tags = { "*": "strong", _: "em", "~": "s", "`": "code" };
const letter = /[\p{L}\p{N}]/u;

// A closing mark further away than this is not looked for, and marks nest only
// so deep: a hostile text must not keep the browser busy.
const REACH = 1000;
const DEPTH = 4;

// closing finds where the mark that opens at i ends, or -1: on the same line,
// hugging its text, at the end of a word.
function closing(text, i) {
  const mark = text[i];
  const opens = i === 0 || !letter.test(text[i - 1]);
  if (!opens || i + 2 >= text.length || /\s/.test(text[i + 1]) || text[i + 1] === mark) return -1;
  const end = Math.min(text.length, i + REACH);
  for (let j = i + 2; j < end; j++) {
    if (text[j] === "\n") return -1;
    const ends = j + 1 === text.length || !letter.test(text[j + 1]);
    if (text[j] === mark && !/\s/.test(text[j - 1]) && ends) return j;
  }
  return -1;
}

function inline(text, depth) {
  const out = [];
  let plain = 0;
  for (let i = 0; i < text.length && depth < DEPTH; i++) {
    const tag = tags[text[i]];
    const end = tag ? closing(text, i) : -1;
    if (end < 0) continue;
    const node = document.createElement(tag);
    const inner = text.slice(i + 1, end);
    if (tag === "code") node.textContent = inner;
    else node.append(...inline(inner, depth + 1));
    out.push(text.slice(plain, i), node);
    plain = end + 1;
    i = end;
  }
  out.push(text.slice(plain));
  return out.filter((part) => part !== "");
}

// rich turns a message's text into nodes: *bold*, _italic_, ~struck~, `code`
// and ```blocks```. Everything else stays as it is.
export function rich(text) {
  return String(text ?? "").split("```").flatMap((part, i, all) => {
    if (i % 2 === 0) return inline(part, 0);
    if (i === all.length - 1) return inline("```" + part, 0);
    const block = document.createElement("code");
    block.className = "block";
    block.textContent = part.replace(/^\n|\n$/g, "");
    return [block];
  });
}

// Businesses of the demo are in Kenya unless a tenant says otherwise.
let zone = "Africa/Nairobi";

export function setZone(name) {
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: name });
    zone = name;
  } catch {
    zone = "Africa/Nairobi";
  }
}

const written = (at, options) => {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "" : new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...options }).format(date);
};

export const hourMinute = (at) => written(at, { hour: "2-digit", minute: "2-digit" });

export const withMillis = (at) =>
  written(at, { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });

export const dayOf = (at) => written(at, { year: "numeric", month: "2-digit", day: "2-digit" });

export const dayName = (at) => written(at, { weekday: "long", day: "numeric", month: "long" });

export const clockFace = (at) =>
  written(at, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" });

// money writes a whole number of currency units as people do.
export const money = (amount, currency = "KES") => `${currency} ${Number(amount).toLocaleString("en-KE")}`;

// dollars writes a model's cost with the digits it needs: most are tiny. What
// is no number is left out, here and below.
export function dollars(cost) {
  const n = Number(cost ?? NaN);
  if (!Number.isFinite(n)) return "";
  if (n === 0) return "$0";
  return n >= 0.01 ? `$${n.toFixed(3)}` : `$${n.toFixed(6).replace(/0+$/, "")}`;
}

// millis writes a duration given in milliseconds.
export function millis(ms) {
  const n = Number(ms ?? NaN);
  if (!Number.isFinite(n)) return "";
  if (n < 10) return n.toFixed(1);
  return Math.round(n).toLocaleString("en-GB");
}

// initials gives the one or two letters of an avatar.
export function initials(name) {
  const words = String(name).split(/\s+/).filter((word) => letter.test(word));
  return words.slice(0, 2).map((word) => [...word][0].toUpperCase()).join("") || "?";
}
