// The booking conversation as a LangGraph graph: understand, step, shape.
//
// A turn is one invoke on the customer's thread. State is what a booking thread
// of ours keeps: where it stands, what is wanted, what is held, what was asked,
// and the messages. Effects are rows that nodes write: the booking in step, the
// answer and the inbox row's end in shape, in one transaction.

import {AIMessage, HumanMessage} from '@langchain/core/messages';
import {Annotation, END, MessagesAnnotation, START, StateGraph} from '@langchain/langgraph';

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  inbound: Annotation(), // what came in: {seq, kind, text, choice}
  reading: Annotation(), // what it means: {intent, confidence, language, slots}
  node: Annotation(), // where the conversation stands
  want: Annotation({reducer: (a, b) => ({...a, ...b}), default: () => ({})}),
  hold: Annotation(), // the booking that is held
  pending: Annotation(), // the question a yes would answer
  counters: Annotation({reducer: (a, b) => ({...a, ...b}), default: () => ({turns: 0, misses: 0})}),
  disclosed: Annotation(),
  language: Annotation(),
  draft: Annotation(), // what step wants said: {text, choices}
});

// model answers at once, as the measured product's does.
async function model(text) {
  const found = {
    hello: {intent: 'greeting'}, treatment: {intent: 'book'}, massage: {intent: 'book', slots: {service: 'massage'}},
    towel: {intent: 'question'}, Mary: {intent: 'book', slots: {name: 'Mary Wambui'}},
  };
  const word = Object.keys(found).find((w) => text.includes(w));
  return {confidence: 0.93, language: 'en', languageConfidence: 0.98, sentiment: 'neutral', slots: {}, ...(found[word] ?? {intent: 'book'})};
}

async function understand({inbound}) {
  if (inbound.kind === 'payment') {
    return {reading: {intent: 'payment', confidence: 1}, messages: [new HumanMessage('[payment received]')]};
  }
  const reading = inbound.choice ? {intent: 'affirm', confidence: 1, choice: inbound.choice} : await model(inbound.text);
  const on = /^on (\S+)$/.exec(inbound.text), at = /^at (\S+)$/.exec(inbound.text);
  if (on) reading.slots.day = on[1];
  if (at) reading.slots.time = at[1];
  return {reading, language: reading.language ?? 'en', messages: [new HumanMessage(inbound.text)]};
}

const services = [['massage', 'Massage 60 min', 3000, 500], ['facial', 'Facial', 2500, 500], ['manicure', 'Manicure', 1200, 0]];

// summary says what a yes would do, and what the yes is.
function summary(hold, nonce) {
  return {
    text: `Please check your booking:\n\n*Massage 60 min* (1 hour)\n${hold.day}\n${hold.time}, with ${hold.staff}\nName: ${hold.name}\n` +
      `Price: KES 3,000\nDeposit now: *KES 500* by M-Pesa\n\nI'm keeping this time for you for 10 minutes. Shall I send the M-Pesa request?`,
    choices: [{id: `yes~${nonce}`, title: 'Yes, send M-Pesa'}, {id: 'change', title: 'Change something'}, {id: 'stop', title: 'Stop here'}],
  };
}

// stepOver returns the node that decides, over a pool.
function stepOver(pool) {
  const staff = ['Grace', 'Amina', 'Njeri', 'Otieno', 'Faith', 'Brian'];
  return async ({reading, node, want, hold, pending, counters}, {configurable: {thread_id: thread, tenant, phone}}) => {
    const slots = {...want, ...reading.slots}, rest = {counters: {turns: counters.turns + 1}, want: reading.slots ?? {}};
    if (reading.intent === 'payment') {
      const {rowCount} = await pool.query(`UPDATE bookings SET status = 'confirmed', paid = deposit WHERE id = $1 AND status = 'pending_payment'`, [hold.id]);
      if (rowCount !== 1) throw new Error('the hold is gone');
      return {...rest, node: 'closed', pending: null, draft: {text: `*${hold.service}* on ${hold.day} at ${hold.time} is confirmed. Code ${hold.id.slice(-6)}.`}};
    }
    if (reading.intent === 'affirm' && pending && reading.choice === `yes~${pending.nonce}`) {
      await pool.query(`UPDATE bookings SET status = 'pending_payment' WHERE id = $1`, [hold.id]);
      return {...rest, node: 'await_payment', pending: null, draft: {text: `I'm sending an M-Pesa request for KES 500 to ${phone}.`}};
    }
    if (reading.intent === 'question') {
      const nonce = Math.random().toString(36).slice(2);
      const again = hold ? summary(hold, nonce) : {text: ''};
      return {...rest, pending: hold ? {nonce, shown: again.text} : null,
        draft: {...again, text: `You need to bring nothing: towels, robes and slippers are here for you.\n\n${again.text}`}};
    }
    if (node === undefined && reading.intent === 'greeting') {
      return {...rest, node: 'greet', draft: {text: 'How can I help you today?', choices: [{id: 'book', title: 'Book a visit'}, {id: 'mine', title: 'My bookings'}]}};
    }
    if (!slots.service) {
      return {...rest, node: 'collect', draft: {text: 'What would you like to book?', choices: services.map(([id, title, price]) => ({id, title, description: `KES ${price}`}))}};
    }
    if (!slots.day) return {...rest, node: 'collect', draft: {text: 'Which day would suit you for Massage 60 min?', choices: [{id: 'today', title: 'Today'}, {id: 'soonest', title: 'First free time'}]}};
    const {rows} = await pool.query('SELECT starts_at, staff FROM bookings WHERE tenant = $1 AND day = $2', [tenant, slots.day]);
    if (!slots.time) {
      const free = ['07:00', '08:15', '09:30', '10:45', '12:00'].filter((t) => rows.filter((r) => r.starts_at === t).length < staff.length);
      return {...rest, node: 'offer', draft: {text: 'Massage 60 min: these times are free. Which one suits you?', choices: free.map((t) => ({id: `slot/${t}`, title: t}))}};
    }
    if (!slots.name) return {...rest, node: 'collect', draft: {text: `Massage 60 min, ${slots.day} at ${slots.time}. What name should I book it under?`}};
    const taken = rows.filter((r) => r.starts_at === slots.time).map((r) => r.staff);
    const next = {id: thread, service: 'Massage 60 min', day: slots.day, time: slots.time, name: slots.name, staff: staff.find((s) => !taken.includes(s))};
    await pool.query(
      `INSERT INTO bookings (id, tenant, phone, name, service, staff, day, starts_at, status, price, deposit, paid, hold_until)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'held', 3000, 500, 0, now() + interval '10 minutes')`,
      [next.id, tenant, phone, next.name, 'massage', next.staff, next.day, next.time]);
    const nonce = Math.random().toString(36).slice(2), draft = summary(next, nonce);
    return {...rest, node: 'confirm', hold: next, pending: {nonce, shown: draft.text}, draft};
  };
}

// shapeOver returns the node that words the answer and queues it, over a pool.
function shapeOver(pool) {
  return async ({draft, disclosed, inbound, node}, {configurable: {thread_id: thread, tenant, phone}}) => {
    const text = disclosed ? draft.text : `I'm Savannah, the AI assistant of Serenity Spa.\n\n${draft.text}`;
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('INSERT INTO outbox (thread_id, tenant, idempotency_key, payload, state) VALUES ($1, $2, $3, $4, $5)',
        [thread, tenant, `${thread}:${inbound.seq}`, JSON.stringify({to: phone, text, choices: draft.choices ?? []}), 'queued']);
      const {rowCount} = await client.query('UPDATE inbox SET done_at = now() WHERE seq = $1 AND done_at IS NULL', [inbound.seq]);
      if (rowCount !== 1) throw new Error('answered twice');
      await client.query('COMMIT');
    } catch (err) {
      await client.query('ROLLBACK');
      throw err;
    } finally {
      client.release();
    }
    return {disclosed: true, messages: [new AIMessage(text)]};
  };
}

// tables of the rows that nodes write.
export const tables = `
  CREATE TABLE inbox (seq bigserial PRIMARY KEY, thread_id text NOT NULL, dedupe_key text NOT NULL UNIQUE, payload jsonb NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(), done_at timestamptz);
  CREATE INDEX inbox_open ON inbox (thread_id, seq) WHERE done_at IS NULL;
  CREATE TABLE outbox (seq bigserial PRIMARY KEY, thread_id text NOT NULL, tenant text NOT NULL, idempotency_key text NOT NULL UNIQUE,
    payload jsonb NOT NULL, state text NOT NULL, created_at timestamptz NOT NULL DEFAULT now());
  CREATE INDEX outbox_open ON outbox (thread_id, seq) WHERE state = 'queued';
  CREATE TABLE bookings (id text PRIMARY KEY, tenant text NOT NULL, phone text NOT NULL, name text NOT NULL, service text NOT NULL,
    staff text NOT NULL, day text NOT NULL, starts_at text NOT NULL, status text NOT NULL, price int NOT NULL, deposit int NOT NULL,
    paid int NOT NULL, hold_until timestamptz NOT NULL, UNIQUE (tenant, day, starts_at, staff));`;

// conversation compiles the graph over a checkpointer and a pool.
export function conversation(checkpointer, pool) {
  return new StateGraph(State)
    .addNode('understand', understand).addNode('step', stepOver(pool)).addNode('shape', shapeOver(pool))
    .addEdge(START, 'understand').addEdge('understand', 'step').addEdge('step', 'shape').addEdge('shape', END)
    .compile({checkpointer});
}
