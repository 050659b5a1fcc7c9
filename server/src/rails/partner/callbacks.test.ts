import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newInstruction, newKeys } from '../../../testing/setups/partner.ts';
import { openTestHost, type TestHost } from '../../../testing/setups/rail.ts';
import type { ExactJson } from '../../core/exact-json.ts';
import { readCallback, readEvents } from './callbacks.ts';
import { markKnown } from './records.ts';
import {
  createSigningKey,
  createVerifyingKeys,
  digestBody,
  type KeyDeclaration,
  signMessage,
} from './signatures.ts';

const keys = newKeys();
const nowMs = Date.UTC(2030, 0, 15, 18);
const instruction = newInstruction();
const callbackUrl = 'https://payouts.example.test/rails/partner';

let host: TestHost;
before(async () => {
  host = await openTestHost({ name: 'partner', callbackUrl });
  await markKnown(host.store, instruction);
});
after(() => host.close());

function newEvent(changes: Record<string, unknown> = {}, payment: Record<string, unknown> = {}) {
  return {
    id: 'e1',
    occurred_at: '2030-01-15T17:59:00.000Z',
    payment: {
      reference: instruction.reference,
      amount: '100.1',
      currency: 'EUR',
      state: 'paid',
      charges: [],
      returns: [],
      ...payment,
    },
    ...changes,
  };
}

type Delivery = { ageS?: number; key?: KeyDeclaration; url?: string; path?: string };

async function deliver(text: string, delivery: Delivery = {}) {
  const { ageS = 0, key = keys.partner, url = callbackUrl, path = '' } = delivery;
  const body = Buffer.from(text);
  const createdS = nowMs / 1000 - ageS;
  const message = { method: 'POST', url, headers: { 'content-digest': digestBody(body) } };
  const signed = await signMessage({ role: 'callback', message }, createSigningKey(key), {
    createdS,
    expiresS: createdS + 60,
    nonce: 'abcdefghijklmnop',
  });
  const headers = Object.fromEntries(
    Object.entries(signed).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return await readCallback(
    { method: 'POST', path, query: {}, headers, body },
    { host, partnerKeys: createVerifyingKeys([keys.partner]), realNowMs: () => nowMs },
  );
}

test('an event is stored with its raw bytes, under an id of its own', async () => {
  const text = JSON.stringify(newEvent());
  const reading = await deliver(text);
  assert.equal(reading.kind, 'accepted');
  const message = reading.kind === 'accepted' ? reading.message : undefined;
  assert.equal(message?.id, 'event:e1');
  assert.equal(Buffer.from(message?.raw ?? []).toString(), text);
  assert.deepEqual(message?.observations, [
    {
      id: 'event:e1',
      reference: instruction.reference,
      outcome: 'paid',
      amountMinor: 10_010n,
      atMs: Date.UTC(2030, 0, 15, 17, 59),
    },
  ]);
});

test('a callback without proof of its time, sender and address is refused', async () => {
  const text = JSON.stringify(newEvent());
  for (const delivery of [
    { ageS: 301 },
    { ageS: -301 },
    { key: { ...keys.outlay, id: keys.partner.id } },
    { key: keys.outlay },
    { url: 'https://payouts.example.test/rails/another' },
    { url: 'https://elsewhere.example.test/rails/partner' },
    { path: '/more' },
  ]) {
    assert.equal(
      (await deliver(text, delivery)).kind,
      'refused',
      JSON.stringify(Object.keys(delivery)),
    );
  }
  assert.equal((await deliver(text, { ageS: 299 })).kind, 'accepted');
});

test('nonsense is reported as malformed, without repeating it', async () => {
  const back = { id: 'r1', amount: '5.00', reason: 'x', occurred_at: '2030-01-15T17:00:00Z' };
  const senseless: string[] = [
    'no JSON',
    '{}',
    '{"id":"a","id":"b"}',
    JSON.stringify(newEvent({}, { amount: '100.11', state: 'accepted' })),
    JSON.stringify(newEvent({}, { amount: 100.1 })),
    JSON.stringify(newEvent({}, { amount: '-100.10' })),
    JSON.stringify(newEvent({}, { currency: 'USD' })),
    JSON.stringify(newEvent({}, { currency: 'ZZZ' })),
    JSON.stringify(newEvent({}, { state: 'Secret Name' })),
    JSON.stringify(newEvent({}, { state: 'returned' })),
    JSON.stringify(newEvent({}, { state: 'returned', returns: [back] })),
    JSON.stringify(newEvent({ return: back })),
    JSON.stringify(newEvent({ return: back }, { returns: [back, back] })),
    JSON.stringify(newEvent({}, { charges: [{ id: 'c', amount: '0.001', currency: 'EUR' }] })),
    JSON.stringify(newEvent({ occurred_at: 'yesterday' })),
  ];
  for (const text of senseless) {
    const reading = await deliver(text);
    assert.equal(reading.kind, 'malformed', text);
    if (reading.kind !== 'malformed') continue;
    assert.equal(reading.detail.includes('Secret'), false);
    const [problem] = reading.message?.problems ?? [];
    assert.equal(problem?.kind, 'not_understood');
    assert.equal(problem?.detail.includes('Secret'), false);
    // A person finds the payment, as far as the event names it.
    if (text.includes('occurred_at')) {
      assert.match(problem?.detail ?? '', /^event e1 of payment \S+: /);
    }
  }
});

test('a return names its amount, a part or all of it', async () => {
  const part = { id: 'r1', amount: '40', reason: 'odd', occurred_at: '2030-01-15T17:00:00Z' };
  const read = await deliver(JSON.stringify(newEvent({ return: part }, { returns: [part] })));
  const [observation] = read.kind === 'accepted' ? read.message.observations : [];
  assert.equal(observation?.amountMinor, 4000n);
  assert.equal(observation?.reason, 'sent_back');
  const all = { ...part, amount: '100.10', reason: 'account_closed' };
  const whole = await deliver(
    JSON.stringify(newEvent({ return: all }, { state: 'returned', returns: [all] })),
  );
  const [last] = whole.kind === 'accepted' ? whole.message.observations : [];
  assert.equal(last?.outcome, 'returned');
  assert.equal(last?.amountMinor, 10_010n);
  assert.equal(last?.reason, 'account_closed');
});

test('an event of an unknown payment is stored, so that the exception rules decide', async () => {
  const text = JSON.stringify(newEvent({ id: 'e9' }, { reference: 'unheard-of' }));
  assert.equal((await deliver(text)).kind, 'accepted');
});

test('an event with another paid amount is stored with that amount', async () => {
  const reading = await deliver(JSON.stringify(newEvent({ id: 'e7' }, { amount: '99' })));
  const [observation] = reading.kind === 'accepted' ? reading.message.observations : [];
  assert.deepEqual([observation?.outcome, observation?.amountMinor], ['paid', 9_900n]);
});

test('a list of events without an end is left after a bounded number of pages', async () => {
  const endless = await openTestHost({ name: 'endless', callbackUrl });
  try {
    let pages = 0;
    const repeat = await readEvents(endless, async () => {
      pages += 1;
      return { events: [newEvent({ id: 'again' })], next: `p${pages}` };
    });
    assert.ok(pages <= 50, `${pages} pages`);
    assert.equal(repeat, 'more', 'one event was new');
    assert.equal(
      await readEvents(endless, async () => {
        pages += 1;
        return { events: [newEvent({ id: 'again' })], next: `p${pages}` };
      }),
      'unread',
      'a list that only repeats itself is not read again at once',
    );
  } finally {
    await endless.close();
  }
});

test('the list of events is read to its end, past what makes no sense, and only once', async () => {
  const pages: Record<string, { events: ExactJson[]; next: string }> = {
    0: { events: [newEvent({ id: 'f1' }), { id: 'senseless' }], next: 'p1' },
    p1: {
      events: [newEvent({ id: 'f2' }, { amount: '7', state: 'accepted' }), newEvent({ id: 'f3' })],
      next: 'p2',
    },
    p2: { events: [], next: 'p2' },
  };
  const asked: string[] = [];
  const read = () =>
    readEvents(host, async (after) => {
      asked.push(after);
      return pages[after];
    });
  await read();
  await read();
  assert.deepEqual(asked, ['0', 'p1', 'p2', 'p2']);
  assert.deepEqual(
    host.messages
      .map(({ id, channel }) => `${channel} ${id}`)
      .filter((name) => name.includes(' event:')),
    ['poll event:f1', 'poll event:f3'],
  );
  assert.deepEqual(
    host.problems.map(({ kind }) => kind),
    ['not_understood', 'not_understood'],
  );
  assert.equal(host.lines.filter(({ level }) => level === 'error').length >= 2, true);
});

test('an event that is posted and listed without the form of the protocol is one exception', async () => {
  const event = newEvent({ id: 'odd' }, { amount: 'much' });
  const reading = await deliver(JSON.stringify(event, null, 1));
  assert.equal(reading.kind, 'malformed');
  const posted = reading.kind === 'malformed' ? reading.message : undefined;
  const listed = await openTestHost({ name: 'listed', callbackUrl });
  try {
    const pages: Record<string, { events: ExactJson[]; next: string }> = {
      0: { events: [event, newEvent({ id: 'fine' })], next: 'p1' },
      p1: { events: [], next: 'p1' },
    };
    assert.equal(await readEvents(listed, async (after) => pages[after]), 'read');
    assert.deepEqual(
      listed.problems.map(({ id }) => id),
      posted?.problems?.map(({ id }) => id),
    );
    assert.equal(listed.observations.length, 1);
  } finally {
    await listed.close();
  }
});
