import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, test } from 'node:test';
import type { Fault } from '../../../testing/counterparties/partner/simulator-options.ts';
import { createAuthority } from '../../../testing/setups/certificates.ts';
import {
  context,
  newInstruction,
  openPartnerRail,
  openWithSecrets,
  type PartnerRail,
  waitUntil,
} from '../../../testing/setups/partner.ts';
import { announce } from './announcements.ts';
import { authorize } from './light-authentication.ts';
import { eventSchema } from './protocol.ts';
import { beginSending, undoSending } from './records.ts';

const newKey = (id: string) => ({ id, key: randomBytes(32).toString('base64') });
const key = newKey('outlay-1');
const callbackKey = newKey('partner-1');
const authentication = { kind: 'hmac', key } as const;

let partner: Awaited<ReturnType<typeof openWithSecrets>>;
let subject: PartnerRail;
let aheadMs = 0;
/** Set where a test counts the milliseconds. */
let fixedNowMs: number | undefined;
const realNowMs = (): number => (fixedNowMs ?? Date.now()) + aheadMs;

before(async () => {
  const secrets = { light: { outlayKeys: [key], callbackKey } };
  partner = await openWithSecrets({ settleMs: 86_400_000 }, secrets);
  subject = await open();
});
after(async () => {
  await subject.close();
  await partner.close();
});

afterEach(() => {
  aheadMs = 0;
  fixedNowMs = undefined;
  partner.state.options.rejectPattern = '';
  setFaults();
});

function open(light: object = {}): Promise<PartnerRail> {
  return openPartnerRail({
    url: `http://127.0.0.1:${partner.port}`,
    realNowMs,
    config: {
      orderSeconds: 600,
      light: {
        authentication,
        callbackKeys: [callbackKey],
        confirmSeconds: 60,
        queryLagSeconds: 1,
        ...light,
      },
    },
  });
}

function setFaults(...faults: { on: Fault['on']; kind: Fault['kind'] }[]): void {
  const more = { share: 1, count: null, pattern: '', delayMs: 0 };
  partner.state.options.faults = faults.map((fault) => ({ ...fault, ...more }));
}

function observationsOf(reference: string) {
  return subject.host.observations.filter((entry) => entry.reference === reference);
}

const unknown = { outcome: 'unknown', reason: 'not_understood' };

test('a payment is ordered with an HMAC, and paid once a query says so', async () => {
  const instruction = newInstruction();
  const { reference } = instruction;
  assert.equal((await subject.rail.send(instruction, context)).outcome, 'accepted');
  partner.state.lifecycle.move(reference, { state: 'paid', reason: '' });
  await waitUntil(() => subject.readings.length > 0, 'the callback comes');
  assert.deepEqual(
    subject.readings.map(({ kind }) => kind),
    ['accepted'],
  );
  assert.deepEqual(observationsOf(reference), [], 'the callback itself states nothing');
  await subject.rail.work?.(context);
  assert.deepEqual(
    observationsOf(reference).map(({ outcome }) => outcome),
    ['paid'],
  );
});

test('a rejection counts when the query says the same', async () => {
  partner.state.options.rejectPattern = '^refused$';
  const instruction = newInstruction({ payerKey: 'refused' });
  const answer = await subject.rail.send(instruction, context);
  partner.state.options.rejectPattern = '';
  assert.equal(answer.outcome, 'rejected');
});

for (const claim of [
  'claims_accepted',
  'claims_unknown',
  'error_before',
  'reset_before',
] as const) {
  test(`a rejection that the query answers with ${claim} moves no money`, async () => {
    const instruction = newInstruction();
    setFaults({ on: 'put', kind: 'claims_rejected' }, { on: 'get', kind: claim });
    const sent = await subject.rail.send(instruction, context);
    setFaults();
    assert.equal(sent.outcome, 'unknown');
    // The partner has booked it in truth, and pays.
    assert.equal((await subject.rail.query(instruction, context)).outcome, 'unknown');
    const { reference } = instruction;
    partner.state.lifecycle.move(reference, { state: 'paid', reason: '' });
    assert.equal((await subject.rail.query(instruction, context)).outcome, 'paid');
  });
}

test('a contradiction that lasts becomes an exception, once', async () => {
  const instruction = newInstruction();
  const { reference } = instruction;
  fixedNowMs = Math.ceil(Date.now() / 1000) * 1000 - 1;
  setFaults({ on: 'put', kind: 'claims_rejected' });
  assert.deepEqual(await subject.rail.send(instruction, context), unknown);
  setFaults();
  const problems = () => subject.host.problems.filter(({ id }) => id.endsWith(reference));
  aheadMs = 59_999;
  assert.deepEqual(await subject.rail.query(instruction, context), unknown);
  assert.deepEqual(problems(), []);
  aheadMs = 60_000;
  for (let repeat = 0; repeat < 2; repeat += 1) {
    assert.deepEqual(await subject.rail.query(instruction, context), unknown);
  }
  assert.equal(problems().length, 1);
  assert.match(problems()[0]?.detail ?? '', /answer stated rejected.*Ask the partner/s);
});

test('a payment stated paid is not refunded by a query that says rejected', async () => {
  const instruction = newInstruction();
  setFaults({ on: 'put', kind: 'claims_paid' });
  assert.equal((await subject.rail.send(instruction, context)).outcome, 'paid');
  setFaults({ on: 'get', kind: 'claims_rejected' });
  assert.deepEqual(await subject.rail.query(instruction, context), unknown);
  setFaults();
});

test('a payment that an event announced as paid is not refunded by a query that says rejected', async () => {
  const instruction = newInstruction();
  const { reference } = instruction;
  await subject.rail.send(instruction, context);
  const { length } = subject.readings;
  partner.state.lifecycle.move(reference, { state: 'paid', reason: '' });
  await waitUntil(() => subject.readings.length > length, 'the callback comes');
  partner.state.lifecycle.move(reference, { state: 'rejected', reason: 'payer_error' });
  await subject.rail.work?.(context);
  assert.deepEqual(observationsOf(reference), []);
  assert.deepEqual(await subject.rail.query(instruction, context), unknown);
  aheadMs = 61_000;
  await subject.rail.query(instruction, context);
  const problems = subject.host.problems.filter(({ id }) => id === `contradiction:${reference}`);
  assert.equal(problems.length, 1);
});

test('a rejection after the payment was completed becomes an exception, once', async () => {
  const instruction = newInstruction();
  const { reference } = instruction;
  await subject.rail.send(instruction, context);
  const announceState = async (state: 'paid' | 'rejected'): Promise<void> => {
    const { length } = subject.readings;
    partner.state.lifecycle.move(reference, { state, reason: '' });
    await waitUntil(() => subject.readings.length > length, 'the callback comes');
    await subject.rail.work?.(context);
  };
  await announceState('paid');
  await announceState('rejected');
  const outcomes = observationsOf(reference).map(({ outcome }) => outcome);
  assert.deepEqual(outcomes, ['paid']);
  aheadMs = 61_000;
  await subject.rail.work?.(context);
  await subject.rail.work?.(context);
  const problems = subject.host.problems.filter(({ detail }) => detail.includes(reference));
  assert.deepEqual(
    problems.map(({ id }) => id),
    [`contradiction:${reference}`],
  );
  assert.equal(await subject.host.store.get('announcements', reference), undefined);
});

test('a query that lags for a moment leaves no contradiction behind', async () => {
  const instruction = newInstruction();
  await subject.rail.send(instruction, context);
  setFaults({ on: 'get', kind: 'claims_unknown' });
  assert.deepEqual(await subject.rail.query(instruction, context), unknown);
  setFaults();
  assert.equal((await subject.rail.query(instruction, context)).outcome, 'accepted');
  const record = await subject.host.store.get('payments', instruction.reference);
  assert.equal(JSON.stringify(record?.value).includes('contradictedSinceMs'), false);
});

test('a cancellation counts when the query says the same', async () => {
  const lagging = newInstruction();
  await subject.rail.send(lagging, context);
  setFaults({ on: 'get', kind: 'claims_accepted' });
  assert.deepEqual(await subject.rail.cancel?.(lagging, context), unknown);
  setFaults();
  assert.equal((await subject.rail.query(lagging, context)).outcome, 'rejected');
});

test('an unsigned refusal is no proof that nothing was booked', async () => {
  const instruction = newInstruction();
  setFaults({ on: 'put', kind: 'busy' });
  assert.deepEqual(await subject.rail.send(instruction, context), {
    outcome: 'unknown',
    reason: 'busy',
  });
  setFaults();
});

test('an unknown reference is final only after the lag of queries', async () => {
  const instruction = newInstruction();
  const slow = await openPartnerRail({
    url: `http://127.0.0.1:${partner.port}`,
    realNowMs,
    config: { orderSeconds: 1, light: { authentication, queryLagSeconds: 5 } },
  });
  const { nowMs } = partner.state;
  fixedNowMs = Date.now();
  Object.assign(partner.state, { nowMs: realNowMs });
  try {
    setFaults({ on: 'put', kind: 'reset_before' });
    assert.equal((await slow.rail.send(instruction, context)).outcome, 'unknown');
    setFaults();
    aheadMs = 5000;
    assert.equal((await slow.rail.query(instruction, context)).outcome, 'unknown');
    aheadMs = 9000;
    const { store } = slow.host;
    const { reference } = instruction;
    const lost = await store.get('payments', reference);
    assert.equal((await slow.rail.query(instruction, context)).outcome, 'retry');
    assert.deepEqual(await store.get('payments', reference), lost);
    const payment = { reference, amount: '10.00', currency: 'EUR', state: 'ready_for_pickup' };
    await announce(
      slow.host,
      eventSchema.parse({
        id: `ready-${reference}`,
        occurred_at: '2030-01-15T17:59:00Z',
        payment: { ...payment, charges: [], returns: [] },
      }),
    );
    const announced = await slow.rail.query(instruction, context);
    assert.deepEqual(announced, unknown, 'an event said that it was booked');
    const order = { body: '{}', untilS: Math.floor(realNowMs() / 1000) + 60 };
    const sending = await beginSending(store, instruction, order);
    assert.ok(sending !== 'known' && (await undoSending(store, instruction, sending)));
    assert.deepEqual(await slow.rail.query(instruction, context), unknown, 'still, after a repeat');
  } finally {
    Object.assign(partner.state, { nowMs });
    await slow.close();
  }
});

test('an answer without the time of the partner is unknown', async () => {
  const instruction = newInstruction();
  setFaults({ on: 'put', kind: 'no_time' });
  assert.deepEqual(await subject.rail.send(instruction, context), unknown);
  setFaults();
  assert.equal((await subject.rail.query(instruction, context)).outcome, 'accepted');
});

test('an announced state that no query ever states becomes an exception', async () => {
  const instruction = newInstruction();
  const { reference } = instruction;
  fixedNowMs = Math.ceil(Date.now() / 1000) * 1000 - 1;
  await subject.rail.send(instruction, context);
  setFaults({ on: 'get', kind: 'claims_accepted' });
  const { length } = subject.readings;
  partner.state.lifecycle.move(reference, { state: 'rejected', reason: 'account_closed' });
  await waitUntil(() => subject.readings.length > length, 'the callback comes');
  await subject.rail.work?.(context);
  const outcomes = observationsOf(reference).map(({ outcome }) => outcome);
  assert.deepEqual(outcomes, ['accepted']);
  const problems = () => subject.host.problems.filter(({ id }) => id.includes(reference));
  aheadMs = 59_999;
  await subject.rail.work?.(context);
  assert.deepEqual(problems(), []);
  aheadMs = 60_000;
  await subject.rail.work?.(context);
  assert.equal(problems().length, 1);
  assert.equal(await subject.host.store.get('announcements', reference), undefined);
});

test('an event of a payment without a record becomes an exception, once', async () => {
  const { host } = subject;
  const { reference } = newInstruction();
  const payment = { reference, amount: '5.00', currency: 'EUR', state: 'paid' } as const;
  const event = eventSchema.parse({
    id: `unordered-${reference}`,
    occurred_at: '2030-01-15T17:59:00Z',
    payment: { ...payment, charges: [], returns: [] },
  });
  await announce(host, event);
  await announce(host, event);
  assert.deepEqual(
    host.problems
      .filter(({ id }) => id.includes(reference))
      .map(({ kind, amountMinor }) => [kind, amountMinor]),
    [['unmatched', 500n]],
  );
});

test('callbacks without a signature, with another key or out of time are refused', async () => {
  const body = Buffer.from('{}');
  const path = new URL(subject.host.callbackUrl).pathname;
  const nowS = Math.floor(Date.now() / 1000);
  const call = (expiresS: number, signer: typeof key) => {
    const message = { role: 'callback', method: 'POST', path, body, expiresS } as const;
    const headers = {
      'outlay-expires': String(expiresS),
      authorization: authorize(message, signer),
    };
    return subject.rail.readCallback?.({ method: 'POST', path: '', query: {}, headers, body });
  };
  for (const [expiresS, signer] of [
    [nowS + 60, { ...callbackKey, key: key.key }],
    [nowS + 60, key],
    [nowS - 1, callbackKey],
    [nowS + 3600, callbackKey],
  ] as const) {
    assert.equal((await call(expiresS, signer))?.kind, 'refused');
  }
  assert.equal((await call(nowS + 60, callbackKey))?.kind, 'malformed');
  const bare = { method: 'POST', path: '', query: {}, headers: {}, body };
  assert.equal((await subject.rail.readCallback?.(bare))?.kind, 'refused');
});

test('a request with another key is refused by the partner, and stays unknown', async () => {
  const stranger = await open({ authentication: { kind: 'hmac', key: newKey('outlay-1') } });
  try {
    const answer = await stranger.rail.send(newInstruction(), context);
    assert.deepEqual(answer, { outcome: 'unknown', reason: 'not_configured' });
  } finally {
    await stranger.close();
  }
});

test('a client certificate opens the connection, and without a valid one there is none', async () => {
  const authority = createAuthority();
  const foreign = createAuthority();
  const server = { ...authority.issue('partner'), clientAuthority: authority.certificate };
  const secrets = { light: { outlayKeys: [], callbackKey, tls: server } };
  const secured = await openWithSecrets({}, secrets);
  const send = async (client: object, trusted = authority.certificate) => {
    const tls = { kind: 'tls', authority: trusted, ...client } as const;
    const rail = await openPartnerRail({
      url: `https://127.0.0.1:${secured.port}`,
      config: { light: { authentication: tls as never } },
    });
    try {
      return (await rail.rail.send(newInstruction(), context)).outcome;
    } finally {
      await rail.rail.close?.();
      await rail.close();
    }
  };
  try {
    const client = authority.issue('outlay');
    assert.equal(await send(client), 'accepted');
    assert.equal(await send(authority.issue('outlay', { isExpired: true })), 'unknown');
    assert.equal(await send(foreign.issue('outlay')), 'unknown');
    assert.equal(await send(client, foreign.certificate), 'unknown', 'not the partner');
    assert.equal(secured.state.books.payments.size, 1);
  } finally {
    await secured.close();
  }
});

test('a rejection in a batch counts when the query of its payment says the same', async () => {
  const batching = await openPartnerRail({
    url: `http://127.0.0.1:${partner.port}`,
    realNowMs,
    config: {
      orderSeconds: 600,
      capabilities: ['batches'],
      light: { authentication, callbackKeys: [callbackKey], queryLagSeconds: 1 },
    },
  });
  partner.state.options.capabilities = ['batches'];
  try {
    const claimed = [newInstruction(), newInstruction()];
    setFaults({ on: 'batch', kind: 'claims_rejected' });
    const answers = await Promise.all(claimed.map((one) => batching.rail.send(one, context)));
    assert.deepEqual(answers, [unknown, unknown]);
    setFaults({ on: 'batch', kind: 'busy' });
    const busy = [newInstruction(), newInstruction()];
    const refused = await Promise.all(busy.map((one) => batching.rail.send(one, context)));
    const noProof = { outcome: 'unknown', reason: 'busy' };
    assert.deepEqual(refused, [noProof, noProof]);
    setFaults();
    partner.state.options.rejectPattern = '^refused$';
    const right = [newInstruction({ payerKey: 'refused' }), newInstruction()];
    const sent = await Promise.all(right.map((one) => batching.rail.send(one, context)));
    assert.deepEqual(
      sent.map(({ outcome }) => outcome),
      ['rejected', 'accepted'],
    );
  } finally {
    partner.state.options.capabilities = [];
    await batching.close();
  }
});
