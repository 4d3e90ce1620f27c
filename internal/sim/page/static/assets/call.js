// A telephone for the laboratory: it acts through /sim/voice/ and shows text
// only as text.
const $ = (id) => document.getElementById(id);
const controls = ["words", "say", "silence", "end"];
let call = null;
let busy = false;

async function ask(path, body) {
  const res = await fetch(path, body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  });
  const out = await res.json();
  if (!res.ok) throw new Error(out.error ? out.error.message : `status ${res.status}`);
  return out;
}

function show(by, text) {
  if (!text) return;
  const li = document.createElement("li");
  li.className = by;
  li.textContent = text;
  $("said").append(li);
  $("line").scrollTop = $("line").scrollHeight;
}

function state(text, open) {
  $("status").textContent = text;
  for (const id of controls) $(id).disabled = !open;
  for (const key of $("keys").children) key.disabled = !open;
  if (open) $("words").focus();
}

function answered(out) {
  show("business", out.answer.say);
  if (out.ended) {
    call = null;
    state("The call is over.", false);
  } else {
    state(out.answer.filler ? "They need a moment: stay silent to wait." : "Connected.", true);
  }
}

async function act(body, mine) {
  if (!call || busy) return;
  busy = true;
  show("caller", mine);
  state("…", false);
  try {
    answered(await ask(`voice/calls/${call}`, body));
  } catch (err) {
    state(err.message, true);
  }
  busy = false;
}

$("dial").addEventListener("submit", async (e) => {
  e.preventDefault();
  if (busy) return;
  busy = true;
  $("said").replaceChildren();
  state("Ringing…", false);
  try {
    const out = await ask("voice/calls", { from: $("from").value, to: $("to").value, language: $("language").value });
    call = out.id;
    answered(out);
  } catch (err) {
    state(err.message, false);
  }
  busy = false;
});

$("talk").addEventListener("submit", (e) => {
  e.preventDefault();
  const text = $("words").value.trim();
  if (!text) return;
  $("words").value = "";
  act({ text }, text);
});
$("silence").addEventListener("click", () => act({ text: "" }, ""));
$("end").addEventListener("click", () => act({ end: true }, ""));

for (const key of ["1", "2", "3", "4", "5", "6", "7", "8", "9", "*", "0", "#"]) {
  const b = document.createElement("button");
  b.type = "button";
  b.textContent = key;
  b.disabled = true;
  b.setAttribute("aria-label", `Key ${key}`);
  b.addEventListener("click", () => act({ key }, `[${key}]`));
  $("keys").append(b);
}

const tenants = await ask("tenants");
for (const t of tenants) {
  const o = document.createElement("option");
  o.value = t.number;
  o.textContent = t.name;
  $("to").append(o);
}
