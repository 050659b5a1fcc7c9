import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  context,
  declarePartnerPayer,
  newInstruction,
  openPartnerRail,
  openWithSecrets,
  type PartnerRail,
} from '../../../testing/setups/partner.ts';
import type { Instruction, Sender } from '../contract/contract.ts';
import { capabilities } from './capability-protocol.ts';
import { authorize } from './light-authentication.ts';

/**
 * The rail against the partner simulator through Prism, which refuses every request and every answer
 * that does not follow docs/partner-openapi.yaml.
 */

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const newKey = (id: string) => ({ id, key: randomBytes(32).toString('base64') });
const key = newKey('outlay-1');

const account = newInstruction().attributes['bank_account_number'] ?? '';
const price = {
  payer: 'bank',
  source_currency: 'USD',
  destination_currency: 'EUR',
  rate: '0.9',
  fee: [{ up_to: '500', fixed: '1.00', basis_points: '0' }],
  expires_at: '2999-01-01T00:00:00Z',
  delivery_seconds: '3600',
};

/** With everything that an order can have. */
function newFullInstruction(changes: Partial<Instruction> = {}): Instruction {
  const given = newInstruction();
  const sender: Sender = {
    legalName: 'Example Limited',
    address1: '1 Example Street',
    city: 'Leeds',
    stateProvince: 'Yorkshire',
    postalCode: 'LS1 1AA',
    countryCode: 'GBR',
    registrationType: 'RAID',
    registrationId: '01234567',
    registrationAuthority: 'RA000585',
  };
  const cost = { sourceCurrency: 'USD', rate: '0.9', feeMinor: 100n, asOfMs: 0 };
  return {
    ...given,
    attributes: { ...given.attributes, RemittanceReason: 'SALARY' },
    originator: { ...given.originator, sender },
    quoted: { ...cost, bearBasisPoints: 50 },
    ...changes,
  };
}

let partner: Awaited<ReturnType<typeof openWithSecrets>>;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let subject: PartnerRail;

before(async () => {
  const secrets = { light: { outlayKeys: [key], callbackKey: newKey('partner-1') } };
  const behavior = {
    settleMs: 86_400_000,
    fee: '0.50',
    rejectPattern: '^rejected$',
    capabilities: [...capabilities],
    requiredFields: [{ fields: ['originator.legal_name'] }],
    accountHolders: { [account]: 'Ana Nunez' },
    deposits: { EUR: '100.00', USD: '20.00' },
    prices: [price],
  };
  partner = await openWithSecrets(behavior, secrets);
  proxy = await startProxy(`http://127.0.0.1:${partner.port}`);
  const light = { authentication: { kind: 'hmac', key } } as const;
  subject = await openPartnerRail({
    url: proxy.url,
    payers: [declarePartnerPayer()],
    config: {
      light,
      capabilities: [...capabilities],
      requiredFields: [{ fields: ['originator.legal_name'] }],
    },
  });
});
after(async () => {
  await subject.close();
  await proxy.close();
  await partner.close();
});

async function startProxy(upstream: string) {
  const prism = `${root}node_modules/@stoplight/prism-cli/dist/index.js`;
  const words = ['proxy', `${root}docs/partner-openapi.yaml`, upstream, '--errors', '--port', '0'];
  const child = spawn(process.execPath, [prism, ...words, '--multiprocess', 'false'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  lines.on('line', (line) => {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(/listening/i.test(line) ? line : '') ?? [];
    if (url !== undefined) resolve(url);
  });
  child.once('exit', () => reject(new Error('Prism has ended')));
  return {
    url: await promise,
    close: async () => {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}

test('requests and answers follow the description, regardless of the outcome of the payment', async () => {
  const instruction = newFullInstruction();
  const { reference } = instruction;
  assert.deepEqual(await subject.rail.check?.(context), []);
  assert.equal((await subject.rail.query(instruction, context)).outcome, 'retry');
  assert.equal((await subject.rail.send(instruction, context)).outcome, 'accepted');
  partner.state.lifecycle.move(reference, { state: 'paid', reason: '' });
  const back = { id: 'r1', amount: '40.00', reason: 'account_closed' };
  partner.state.lifecycle.giveBack(reference, back);
  assert.equal((await subject.rail.cancel?.(instruction, context))?.outcome, 'paid');
  const rejected = newFullInstruction({ payerKey: 'rejected' });
  assert.equal((await subject.rail.send(rejected, context)).outcome, 'rejected');
  await subject.rail.work?.(context);
  const outcomes = subject.host.observations.map(({ outcome }) => outcome);
  assert.deepEqual(new Set(outcomes), new Set(['paid', 'returned', 'rejected']));
});

test('the optional parts follow the description', async () => {
  const { rail } = subject;
  const draft = newFullInstruction();
  const close = { ...draft, beneficiary: { ...draft.beneficiary, firstName: 'Anna' } };
  const found = { outcome: 'close_match', name: 'Ana Nunez' };
  assert.deepEqual(await rail.checkPayee?.(close, context), found);
  assert.equal((await rail.checkPayee?.(draft, context))?.outcome, 'match');
  const funds = await rail.readFunds?.(context);
  assert.deepEqual(
    funds?.map(({ currency }) => currency),
    ['EUR', 'USD'],
  );
  assert.equal((await rail.readPrices?.(context))?.length, 1);
  assert.deepEqual(await rail.check?.(context), []);
  const dearer = {
    sourceCurrency: 'USD',
    rate: '1.9',
    feeMinor: 0n,
    asOfMs: 0,
    bearBasisPoints: 0,
  };
  const answer = await rail.send(newFullInstruction({ quoted: dearer }), context);
  assert.equal('reason' in answer && answer.reason, 'price_worse');
});

test('a batch and its query follow the description, whatever became of each order', async () => {
  const { rail } = subject;
  const several = [
    newFullInstruction(),
    newFullInstruction({ payerKey: 'rejected' }),
    newFullInstruction(),
  ];
  partner.state.options.batchBusyPattern = several[2]?.reference ?? '';
  const answers = await Promise.all(several.map((one) => rail.send(one, context)));
  partner.state.options.batchBusyPattern = '';
  const outcomes = answers.map(({ outcome }) => outcome);
  // Without a signature, a refusal proves nothing.
  assert.deepEqual(outcomes, ['accepted', 'rejected', 'unknown']);
  assert.equal(partner.state.books.batches.size, 1);
  const [, , busy] = several;
  assert.ok(busy !== undefined);
  assert.equal((await rail.query(busy, context)).outcome, 'unknown');
  const fault = { on: 'batch', kind: 'reset_after', share: 1, count: 1, pattern: '' } as const;
  partner.state.options.faults = [{ ...fault, delayMs: 0 }];
  const lost = [newFullInstruction(), newFullInstruction()];
  const sent = await Promise.all(lost.map((one) => rail.send(one, context)));
  assert.deepEqual(
    sent.map(({ outcome }) => outcome),
    ['unknown', 'unknown'],
  );
  const found = await Promise.all(lost.map((one) => rail.query(one, context)));
  assert.deepEqual(
    found.map(({ outcome }) => outcome),
    ['accepted', 'accepted'],
  );
});

test('the proxy refuses what does not follow the description', async () => {
  const instruction = newFullInstruction();
  const { reference } = instruction;
  const ask = async (method: 'GET' | 'PUT', text = '') => {
    const path = `/payments/${reference}`;
    const expiresS = Math.ceil(Date.now() / 1000) + 60;
    const body = Buffer.from(text);
    const message = { role: 'request', method, path, body, expiresS } as const;
    const headers = {
      'content-type': 'application/json',
      'outlay-expires': String(expiresS),
      authorization: authorize(message, key),
    };
    const sent = { method, headers, ...(text === '' ? {} : { body: text }) };
    const response = await fetch(proxy.url + path, sent);
    return { status: response.status, text: await response.text() };
  };
  const refused = await ask('PUT', '{"amount":12}');
  assert.match(refused.text, /must have required property 'reference'/);
  assert.equal((await subject.rail.send(instruction, context)).outcome, 'accepted');
  partner.state.options.fee = 'free';
  partner.state.lifecycle.move(reference, { state: 'paid', reason: '' });
  const answer = await ask('GET');
  partner.state.options.fee = '0.50';
  assert.notEqual(answer.status, 200);
  assert.match(answer.text, /charges/);
});
