// Measures the booking conversation on LangGraph.js with its PostgreSQL
// checkpointer: customers hold conversations of eight messages and a payment
// one after the other, as fast as they are answered.
//
//   node peer.mjs --setup     makes the schema anew; --drop removes it
//   node peer.mjs --durability default|exit --seconds N --contacts N --tenants N --process N --connections N
//
// The variable PEER_DSN is the database's URL. Prints one JSON object. A
// conversation that does not end as a confirmed paid booking is an error.

import {parseArgs} from 'node:util';
import pg from 'pg';
import {PostgresSaver} from '@langchain/langgraph-checkpoint-postgres';
import {conversation, tables} from './graph.mjs';

const {values: opt} = parseArgs({options: {
  setup: {type: 'boolean'}, drop: {type: 'boolean'}, durability: {type: 'string', default: 'default'},
  seconds: {type: 'string', default: '20'}, contacts: {type: 'string', default: '64'}, tenants: {type: 'string', default: '20'},
  process: {type: 'string', default: '0'}, connections: {type: 'string', default: '20'},
}});
const schema = 'ratiba_bench_peer';
const pool = new pg.Pool({connectionString: process.env.PEER_DSN, max: Number(opt.connections), options: `-c search_path=${schema}`});
const checkpointer = new PostgresSaver(pool, undefined, {schema});
const rows = async (query) => Number((await pool.query(query)).rows[0].n);
const mine = `'${opt.process}-${opt.durability}-%'`;
const checkpointRows = async () => {
  let n = 0;
  for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes']) n += await rows(`SELECT count(*) AS n FROM ${table} WHERE thread_id LIKE ${mine}`);
  return n;
};

async function drop() {
  await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  return {};
}

async function setup() {
  await drop();
  await pool.query(`CREATE SCHEMA ${schema}`);
  await checkpointer.setup();
  await pool.query(tables);
  return {};
}

async function measure() {
  const graph = conversation(checkpointer, pool);
  const span = Number(opt.seconds) * 1000, warm = Math.max(span / 5, 3000);
  const begun = performance.now(), from = begun + warm, until = from + span;
  const took = [];
  let turns = 0, held = 0;

  async function turn(config, i, message) {
    const {rows: [{seq}]} = await pool.query('INSERT INTO inbox (thread_id, dedupe_key, payload) VALUES ($1, $2, $3) RETURNING seq',
      [config.configurable.thread_id, `${config.configurable.thread_id}:${i}`, JSON.stringify(message)]);
    const stored = performance.now();
    const state = await graph.invoke({inbound: {...message, seq: Number(seq)}}, config);
    const now = performance.now();
    turns++;
    if (now >= from && now < until) took.push(now - stored);
    return state;
  }

  async function hold(customer, n) {
    const tenant = `t${customer % Number(opt.tenants)}`;
    const id = `${opt.process}-${opt.durability}-${customer}-${n}`;
    const config = {durability: opt.durability === 'default' ? undefined : opt.durability, configurable: {thread_id: id, tenant, phone: `+2547${id}`}};
    const times = ['07:00', '08:15', '09:30', '10:45', '12:00', '13:15', '14:30', '15:45', '17:00', '18:15'];
    const day = `${opt.process}.${opt.durability}.${customer}.${Math.floor(n / times.length)}`; // nobody else's: no two want the same
    const says = ['hello', 'I would like to come in for a treatment', 'a massage please', `on ${day}`, `at ${times[n % times.length]}`, 'Mary Wambui', 'Do I need to bring a towel?'];
    let state, i = 0;
    for (const text of says) state = await turn(config, i++, {kind: 'text', text});
    state = await turn(config, i++, {kind: 'button', text: 'Yes, send M-Pesa', choice: `yes~${state.pending.nonce}`});
    if (state.node !== 'await_payment') throw new Error(`the yes led to ${state.node}`);
    state = await turn(config, i++, {kind: 'payment', receipt: id});
    if (state.node !== 'closed') throw new Error(`the payment led to ${state.node}`);
    held++;
  }

  await Promise.all(Array.from({length: Number(opt.contacts)}, async (_, customer) => {
    for (let n = 0; performance.now() < until; n++) await hold(customer, n);
  }));
  const paid = await rows(`SELECT count(*) AS n FROM bookings WHERE status = 'confirmed' AND paid = deposit AND id LIKE ${mine}`);
  if (paid !== held) throw new Error(`${paid} confirmed paid bookings of ${held} conversations`);
  const open = await rows(`SELECT count(*) AS n FROM inbox WHERE done_at IS NULL AND thread_id LIKE ${mine}`);
  if (open !== 0) throw new Error(`${open} inbox rows still wait`);
  took.sort((a, b) => a - b);
  const at = (q) => took[Math.max(Math.ceil(q * took.length) - 1, 0)] ?? 0;
  return {turns_per_s: took.length / (span / 1000), p50_ms: at(0.5), p99_ms: at(0.99), turns, conversations: held, checkpoint_rows: await checkpointRows()};
}

try {
  process.stdout.write(JSON.stringify(await (opt.setup ? setup() : opt.drop ? drop() : measure())) + '\n');
} finally {
  await pool.end();
}
