// Building blocks of the page. Text always becomes text nodes, never markup:
// whatever a customer writes stays words.

const SVG = "http://www.w3.org/2000/svg";

const shapes = {
  send: "M4 12l16-8-5.500 16-3.200-6.800z",
  clock: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zm0 4v4l2.500 1.500",
  sent: "M5 12.500l4 4 9-9.500",
  double: "M2.500 12.500l4 4 8.500-9.500M11 15.200l1.300 1.300 8.700-9.500",
  failed: "M12 4a8 8 0 1 0 0 16 8 8 0 0 0 0-16zm0 4v5m0 2.700v.1",
  list: "M4 7h.1M4 12h.1M4 17h.1M9 7h11M9 12h11M9 17h11",
  reply: "M10 6l-6 5 6 5v-3.500c5 0 8 1 10 4.500-.5-5-3.500-8-10-8z",
  close: "M6 6l12 12M18 6L6 18",
  file: "M7 3h7l4 4v14H7zM14 3v4h4",
  place: "M12 21s7-6.200 7-11a7 7 0 0 0-14 0c0 4.800 7 11 7 11zm0-8.500a2.500 2.500 0 1 0 0-5 2.500 2.500 0 0 0 0 5z",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zm-7 8c.8-4 3.500-6 7-6s6.200 2 7 6",
  link: "M14 4h6v6M20 4l-9 9M18 14v5H5V6h5",
};

// el makes an element. Props named on* are listeners, data a dataset, the
// rest attributes; null, undefined and false are left out.
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "data") Object.assign(node.dataset, value);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// icon draws one of the shapes above; it is decoration unless it has a label.
export function icon(name, label = "") {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", `icon icon-${name}`);
  if (label) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
  } else {
    svg.setAttribute("aria-hidden", "true");
  }
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", shapes[name]);
  svg.append(path);
  return svg;
}

export const byId = (id) => document.getElementById(id);

// coarse is true where focusing a text box would raise an on-screen keyboard.
export const coarse = () => matchMedia("(pointer: coarse)").matches;

let toastTimer = 0;

// toast says something once, on screen and to screen readers.
export function toast(text) {
  const box = byId("toast");
  clearTimeout(toastTimer);
  box.textContent = text;
  box.classList.add("shown");
  toastTimer = setTimeout(() => {
    box.classList.remove("shown");
    box.textContent = "";
  }, 6000);
}

// arrows lets the arrow keys, Home and End move among the buttons of box.
export function arrows(box, selector, next = ["ArrowDown"], previous = ["ArrowUp"]) {
  box.addEventListener("keydown", (event) => {
    const items = [...box.querySelectorAll(selector)];
    const at = items.indexOf(document.activeElement);
    let to = -1;
    if (next.includes(event.key)) to = (at + 1) % items.length;
    else if (previous.includes(event.key)) to = (at - 1 + items.length) % items.length;
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = items.length - 1;
    if (at < 0 || to < 0) return;
    event.preventDefault();
    items[to].focus();
  });
}
