// The page: two phones, the log, and the controls around them.

import { arrows, byId, el, toast } from "./dom.js";
import { get, noteBug, onBack, onDown, post, Refused, repeat } from "./api.js";
import { Clock } from "./clock.js";
import { wireFaults } from "./faults.js";
import { setZone } from "./format.js";
import { Log } from "./log.js";
import { Payments } from "./payments.js";
import { Phone } from "./phone.js";
import { suggestions } from "./suggestions.js";
import { badge, wireTabs } from "./tabs.js";

const remembered = { tenant: "ratiba.tenant", customer: "ratiba.customer" };

const clock = new Clock();
const customer = new Phone(byId("phone-customer"), {
  role: "customer", owner: "customer", wait: 25, suggestions, onMessage: () => badge("customer"),
});
const admin = new Phone(byId("phone-admin"), { role: "admin", owner: "admin", wait: 0, onMessage: () => badge("admin") });
customer.now = admin.now = () => clock.now().toISOString();
const payments = new Payments(customer, { onPrompt: () => badge("customer", "PIN") });
const log = new Log({ onEvent: () => wake(), onReturn: () => start() });

let tenants = [];
let tenant = null;
let adminIndex = 0;

// wake lets an event of the product hurry what would be seen within a second.
let waking = 0;
function wake() {
  waking ||= setTimeout(() => {
    waking = 0;
    admin.poke();
    payments.poke();
  }, 80);
}

// Browsers that refuse storage still get a page.
function recall(key) {
  try {
    return localStorage.getItem(remembered[key]);
  } catch {
    return null;
  }
}

function remember(key, value) {
  try {
    localStorage.setItem(remembered[key], value);
  } catch {
    // Nothing is lost but the choice.
  }
}

// phoneNumber reads a number as people write it, or returns "".
function phoneNumber(text) {
  const digits = text.replace(/\D/g, "");
  if (/^0\d{9}$/.test(digits)) return `+254${digits.slice(1)}`;
  return digits.length >= 8 && digits.length <= 15 ? `+${digits}` : "";
}

function connectCustomer(number) {
  byId("customer-number").value = number;
  byId("customer-caption").textContent = number;
  remember("customer", number);
  customer.connect(tenant, number);
  payments.connect(number);
}

function adminCaption(chosen) {
  if (!chosen) return "This business has no admin.";
  return tenant.admins.length > 1 ? chosen.phone : `${chosen.name} · ${chosen.phone}`;
}

function connectAdmin(index) {
  const chosen = tenant.admins?.[index];
  adminIndex = index;
  byId("admin-choice").value = index;
  byId("admin-caption").textContent = adminCaption(chosen);
  byId("phone-admin").hidden = !chosen;
  if (chosen) admin.connect(tenant, chosen.phone);
}

function choose(slug) {
  if (slug !== tenant?.slug) adminIndex = 0;
  tenant = tenants.find((t) => t.slug === slug) ?? tenants[0];
  byId("tenant").value = tenant.slug;
  remember("tenant", tenant.slug);
  setZone(tenant.time_zone ?? "Africa/Nairobi");
  clock.draw();
  const admins = tenant.admins ?? [];
  const select = byId("admin-choice");
  select.hidden = admins.length < 2;
  select.replaceChildren(...admins.map((a, i) => el("option", { value: i }, a.name)));
  connectCustomer(phoneNumber(byId("customer-number").value) || "+254700000001");
  connectAdmin(Math.min(adminIndex, Math.max(admins.length - 1, 0)));
}

async function loadTenants() {
  tenants = await get("/sim/tenants");
  if (!tenants.length) throw new Refused("No business is set up.");
  byId("tenant").replaceChildren(...tenants.map((t) => el("option", { value: t.slug }, t.name)));
  choose(tenant?.slug ?? recall("tenant"));
}

// newNumber makes a customer nobody has met: 10 million numbers in a range
// that is used for nothing else here.
function newNumber() {
  const [n] = crypto.getRandomValues(new Uint32Array(1));
  return `+25470${String(n % 10_000_000).padStart(7, "0")}`;
}

function wireControls() {
  byId("tenant").addEventListener("change", (event) => choose(event.target.value));
  byId("admin-choice").addEventListener("change", (event) => connectAdmin(Number(event.target.value)));
  byId("customer-number").addEventListener("change", (event) => {
    const number = phoneNumber(event.target.value);
    if (!number) {
      toast("A phone number has 8 to 15 digits, such as +254700000001.");
      event.target.value = customer.phone;
    } else if (tenant && number !== customer.phone) {
      connectCustomer(number);
    }
  });
  byId("customer-number").addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.target.dispatchEvent(new Event("change"));
  });
  byId("new-customer").addEventListener("click", () => {
    if (!tenant) return;
    connectCustomer(newNumber());
    customer.focusBox();
  });
  const setup = byId("setup-toggle");
  setup.addEventListener("click", () => {
    const open = document.body.classList.toggle("setup-open");
    setup.setAttribute("aria-expanded", String(open));
  });
  arrows(document.querySelector(".clock"), "button", ["ArrowRight"], ["ArrowLeft"]);
}

function wireConnection() {
  const offline = byId("offline");
  onDown(() => {
    offline.textContent = "The demo is not answering. Trying again…";
    offline.hidden = false;
  });
  onBack(() => {
    offline.hidden = true;
    start();
  });
}

// start asks for everything anew; it also serves after a restart, when the
// simulators have forgotten what was on the phones.
let starting = null;
function start() {
  starting ??= Promise.all([loadTenants(), clock.refresh()])
    .catch((cause) => {
      noteBug(cause);
      if (cause instanceof Refused) toast(cause.message);
    })
    .finally(() => {
      starting = null;
    });
}

byId("customer-number").value = phoneNumber(recall("customer") ?? "") || "+254700000001";
wireTabs();
wireControls();
wireConnection();
wireFaults({ phone: () => customer.phone });
clock.wire(async (seconds) => {
  await post("/sim/clock/advance", { seconds });
  customer.poke();
  wake();
});
log.open();
start();
repeat(async () => {
  await clock.refresh();
  if (!tenant) start();
}, 2000, new AbortController().signal);
