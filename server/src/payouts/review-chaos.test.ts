import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRate } from '../core/rate.ts';
import { getDestinationToken } from '../destinations/catalogue.ts';
import { createCompany, createPayer, createRates } from '../destinations/destinations-test-setup.ts';
import type { Rail, RailAnswer, RailObservation } from '../rails/contract.ts';
import { createHost } from '../rails/host.ts';
import { decidePayout } from './decisions.ts';
import { createDispatcher, formatReference } from './dispatch.ts';
import { applyHeard } from './heard.ts';
import { createFakeRail, createMoneyTest, createRouting, type CommittedPayout } from './money-test-setup.ts';

let seed = Number(process.env['SEED'] ?? 1);
const random = () => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed / 2147483648; };
const rates = createRates({ 'USD/MXN': getRate('20') });

test('chaos', async () => {
  const money = await createMoneyTest();
  const owners = await Promise.all([1, 2, 3].map(() => money.createOwner({ USD: 100_000_000n })));
  type Book = { state: 'sending' | 'accepted' | 'paid' | 'rejected' };
  const books = new Map<string, Map<string, Book>>();
  const queue: { rail: string; at: number; o: RailObservation }[] = [];
  const makeRail = (name: string): Rail => {
    const book = new Map<string, Book>();
    books.set(name, book);
    const tell = (reference: string, outcome: RailObservation['outcome'], n = 0) => {
      const o: RailObservation = { id: `${reference}:${outcome}:${n}`, reference, outcome, atMs: Date.now(), ...(outcome === 'rejected' ? { reason: 'payer_unavailable' as const } : {}) };
      const copies = random() < 0.2 ? 0 : random() < 0.5 ? 1 : 2;
      for (let i = 0; i < copies; i += 1) queue.push({ rail: name, at: Date.now() + random() * 900, o: i > 0 && random() < 0.5 ? { ...o, id: `${o.id}:again` } : o });
    };
    const say = (b: Book): RailAnswer =>
      b.state === 'sending' ? { outcome: 'unknown', reason: 'no_answer' }
      : b.state === 'accepted' ? { outcome: 'accepted' }
      : b.state === 'paid' ? { outcome: 'paid' } : { outcome: 'rejected', reason: 'payer_unavailable' };
    const settle = (reference: string, b: Book) => {
      b.state = random() < 0.5 ? 'paid' : 'rejected';
      tell(reference, b.state);
    };
    return {
      ...createFakeRail(() => ({ outcome: 'paid' })), name,
      companies: [createCompany('first')],
      payers: [createPayer(name, { payerName: 'Bank', isDynamicToken: name === 'first' })],
      send: async ({ reference }) => {
        const known = book.get(reference);
        if (known) return say(known);
        if (random() < 0.15) return { outcome: 'retry', reason: 'unreachable' };
        if (random() < 0.1) return { outcome: 'unknown', reason: 'no_answer' };
        const b: Book = { state: 'sending' };
        book.set(reference, b);
        await sleep(random() < 0.1 ? 600 : random() * 30);
        if (random() < 0.4) settle(reference, b);
        else { b.state = 'accepted'; tell(reference, 'accepted'); void sleep(random() * 800).then(() => settle(reference, b)); }
        await sleep(random() * 60);
        return random() < 0.15 ? { outcome: 'unknown', reason: 'no_answer' } : say(b);
      },
      query: async ({ reference }) => {
        const b = book.get(reference);
        await sleep(random() * 20);
        if (b === undefined && !book.has(reference)) return { outcome: 'retry', reason: 'unreachable' };
        return random() < 0.2 ? { outcome: 'unknown', reason: 'no_answer' } : say(book.get(reference) as Book);
      },
      cancel: async ({ reference }) => {
        const b = book.get(reference);
        if (b === undefined) return { outcome: 'retry', reason: 'unreachable' };
        return say(b);
      },
    };
  };
  const rails = ['first', 'second', 'third'].map(makeRail);
  const errors: unknown[] = [];
  const onError = (e: unknown) => errors.push(e);
  const open = (db: typeof money.db) => {
    const routing = createRouting(db, rails, rates);
    const dispatcher = createDispatcher({
      times: { leaseMs: 400, callMsMax: 300 }, db, keys: money.keys, clock: money.clock,
      rails: new Map(rails.map((r) => [r.name, r])), ...routing,
      rules: { check: async (rows) => rows.map(() => undefined) }, onAnswer: () => undefined, onError,
    });
    return { dispatcher, services: { db, router: dispatcher.router, measurements: routing.measurements, nowMs: money.clock.nowMs, onHeard: () => undefined, onError } };
  };
  const processes = [open(money.db), open(money.connect())];
  const payouts: CommittedPayout[] = [];
  let isOver = false;
  const loop = async (run: () => Promise<unknown>) => { while (!isOver) { try { await run(); } catch (e) { if (!/cannot follow|no payer is left/.test(String(e))) errors.push(e); } await sleep(15); } };
  const loops = [
    ...processes.map((p) => loop(() => p.dispatcher.startDue())),
    ...processes.map((p) => loop(() => applyHeard(p.services))),
    loop(async () => {
      for (const one of queue.filter((q) => q.at <= Date.now())) {
        queue.splice(queue.indexOf(one), 1);
        const host = createHost({ name: one.rail, payers: [], db: money.db, keys: money.keys, nowMs: money.clock.nowMs, realNowMs: Date.now, fetch, callbackUrl: '', wake: () => undefined, onHeard: () => undefined, log: () => undefined });
        await host.hear({ id: randomUUID(), channel: 'callback', raw: Buffer.of(1), observations: [one.o] });
      }
    }),
    loop(async () => { await sleep(200); await money.rows('update environment set clock_offset_us = clock_offset_us + 120000000, clock_target_us = clock_target_us + 120000000'); await money.clock.refresh(money.db.system); }),
    loop(async () => {
      const p = payouts[Math.floor(random() * payouts.length)];
      if (p === undefined) return;
      const process = processes[0]; assert.ok(process);
      if (random() < 0.1) await process.dispatcher.cancelOne(p.accountId, p.payoutId);
      else {
        const action = (['release', 'refund', 'retry'] as const)[Math.floor(random() * 3)] ?? 'release';
        await decidePayout({ db: money.db, keys: money.keys, router: process.dispatcher.router, rates: () => rates, twoPersonsAboveUsd: 1e6 }, { ...p, action, decidedBy: 'Ada', reason: 'x' });
      }
    }),
  ];
  for (let i = 0; i < 250; i += 1) {
    const owner = owners[i % 3]; assert.ok(owner);
    payouts.push(await money.quoteAndCommit(owner, { rail: 'first', payerKey: 'first', destinationToken: getDestinationToken('first', 'first'), destinationMinor: 190_000n }));
    await sleep(20);
  }
  for (let i = 0; i < 200; i += 1) {
    await sleep(100);
    const [row] = await money.rows<{ n: bigint }>(`select count(*) n from payouts where status not in ('COMPLETED','CANCELLED','ERROR')`);
    if (row?.n === 0n && queue.length === 0) break;
  }
  isOver = true;
  await Promise.all(loops);
  for (const p of processes) await p.dispatcher.settle();
  const wrong: unknown[] = [];
  const counts: Record<string, number> = {};
  for (const p of payouts) {
    const paidBy = [...books].filter(([, b]) => b.get(formatReference(p.payoutId))?.state === 'paid').map(([n]) => n);
    const [row] = await money.rows<{ status: string; rail: string; ex: string; atts: string; obs: string }>(`select status, rail,
      (select coalesce(string_agg(kind, ','), '') from exceptions e where e.payout_id = p.id and closed_at is null) ex,
      (select string_agg(a.number || a.rail || ':' || a.state, ' ' order by number) from attempts a where a.payout_id = p.id) atts,
      (select string_agg(o.source || ':' || o.outcome || ':' || o.is_applied, ' ' order by observed_at) from observations o where o.payout_id = p.id) obs
      from payouts p where id = $1`, [p.payoutId]);
    assert.ok(row);
    counts[row.status] = (counts[row.status] ?? 0) + 1;
    const bad = paidBy.length > 1 || (row.status === 'COMPLETED') !== (paidBy.length === 1) || (row.status === 'COMPLETED' && paidBy[0] !== row.rail);
    if (bad || row.ex !== '') wrong.push({ bad, paidBy, ...row });
  }
  console.log(counts, errors.length, [...new Set(errors.map((e) => String(e).slice(0, 150)))]);
  console.log('wrong', wrong.length); for (const w of wrong.slice(0, 8)) console.log(JSON.stringify(w));
  const sound = await money.assertSound().then(() => 'sound', (e) => String(e).slice(0, 300));
  console.log(sound);
  await money[Symbol.asyncDispose]();
});
