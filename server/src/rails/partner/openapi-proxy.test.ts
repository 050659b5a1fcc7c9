import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  context,
  newInstruction,
  openPartnerRail,
  openWithSecrets,
  type PartnerRail,
} from '../../../testing/setups/partner.ts';

import { authorize } from './light-authentication.ts';

/**
 * The rail against the partner simulator through Prism, which refuses every request and every answer
 * that does not follow docs/partner-openapi.yaml.
 */

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const newKey = (id: string) => ({ id, key: randomBytes(32).toString('base64') });
const key = newKey('outlay-1');

let partner: Awaited<ReturnType<typeof openWithSecrets>>;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let subject: PartnerRail;

before(async () => {
  const secrets = { light: { outlayKeys: [key], callbackKey: newKey('partner-1') } };
  const behaviour = { settleMs: 86_400_000, fee: '0.50', rejectPattern: '^rejected$' };
  partner = await openWithSecrets(behaviour, secrets);
  proxy = await startProxy(`http://127.0.0.1:${partner.port}`);
  const light = { authentication: { kind: 'hmac', key } } as const;
  subject = await openPartnerRail({ url: proxy.url, config: { light } });
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
  const instruction = newInstruction();
  const { reference } = instruction;
  assert.deepEqual(await subject.rail.check?.(context), []);
  assert.equal((await subject.rail.query(instruction, context)).outcome, 'retry');
  assert.equal((await subject.rail.send(instruction, context)).outcome, 'accepted');
  partner.state.lifecycle.move(reference, { state: 'paid', reason: '' });
  const back = { id: 'r1', amount: '40.00', reason: 'account_closed' };
  partner.state.lifecycle.giveBack(reference, back);
  assert.equal((await subject.rail.cancel?.(instruction, context))?.outcome, 'paid');
  const rejected = newInstruction({ payerKey: 'rejected' });
  assert.equal((await subject.rail.send(rejected, context)).outcome, 'rejected');
  await subject.rail.work?.(context);
  const outcomes = subject.host.observations.map(({ outcome }) => outcome);
  assert.deepEqual(new Set(outcomes), new Set(['paid', 'returned', 'rejected']));
});

test('the proxy refuses what does not follow the description', async () => {
  const instruction = newInstruction();
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
