import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { Exchange } from '../../../testing/counterparties/wise/wise-simulator.ts';
import { type HostGround, openHostGround } from '../../../testing/setups/rail.ts';
import {
  context,
  newInstruction,
  openWiseRail,
  type WiseRail,
} from '../../../testing/setups/wise.ts';
import { approve, isSigningKey, readChallenge } from './approval.ts';

const pem = (bits: number) =>
  generateKeyPairSync('rsa', {
    modulusLength: bits,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
const customer = pem(2048);

let ground: HostGround;
let subject: WiseRail;
const exchanges: Exchange[] = [];
const isFunding = ({ method, path }: Exchange): boolean =>
  method === 'POST' && path.endsWith('/payments');

before(async () => {
  ground = await openHostGround();
  subject = await openWiseRail(ground, {
    wise: { customerKey: customer.publicKey, onExchange: (one) => exchanges.push(one) },
  });
});
after(async () => {
  await subject.close();
  await ground.close();
});

test('a funding that needs approval is signed and paid once', async () => {
  const rail = await subject.again({ signingKey: customer.privateKey });
  const instruction = newInstruction();
  exchanges.length = 0;
  assert.equal((await rail.send(instruction, context)).outcome, 'accepted');
  assert.deepEqual(
    exchanges.filter(isFunding).map(({ status }) => status),
    [403, 200],
  );
  assert.equal(subject.wise.find(instruction.reference)?.fundings, 1);
  await subject.wise.advance();
  await subject.wise.advance();
  assert.equal((await rail.query(instruction, context)).outcome, 'paid');
});

test('without the key, or with another one, nothing is paid and the payment can be sent again', async () => {
  const other = pem(2048).privateKey;
  const instruction = newInstruction();
  for (const changes of [{}, { signingKey: other }]) {
    const rail = await subject.again(changes);
    const answer = await rail.send(instruction, context);
    assert.deepEqual(answer, { outcome: 'retry', reason: 'not_configured' });
    assert.equal(subject.wise.find(instruction.reference)?.fundings, 0);
  }
  const rail = await subject.again({ signingKey: customer.privateKey });
  assert.equal((await rail.send(instruction, context)).outcome, 'accepted');
  assert.equal(subject.wise.find(instruction.reference)?.fundings, 1);
});

test('an approved funding without an answer is not certain, and is paid once', async () => {
  const rail = await subject.again({ signingKey: customer.privateKey });
  const instruction = newInstruction();
  // The challenge arrives; the answer to its approval is lost.
  const on = /^POST \/v3\/profiles\/\d+\/transfers\/\d+\/payments$/;
  const watched = await subject.again(
    { signingKey: customer.privateKey },
    {},
    {
      fetch: async (address, init) => {
        const isApproval = new Headers(init?.headers).has('x-2fa-approval');
        if (isApproval) subject.wise.setFaults([{ on, kind: 'reset_after', count: 1 }]);
        return subject.host.fetch(address, init);
      },
    },
  );
  assert.equal((await watched.send(instruction, context)).outcome, 'unknown');
  assert.equal(subject.wise.find(instruction.reference)?.fundings, 1);
  assert.equal((await rail.query(instruction, context)).outcome, 'accepted');
  assert.equal((await rail.send(instruction, context)).outcome, 'accepted');
  assert.equal(subject.wise.find(instruction.reference)?.fundings, 1);
});

test('only a challenge of the described form is signed, by an RSA key of 2048 bits', () => {
  const headers = { 'x-2fa-approval-result': 'REJECTED', 'x-2fa-approval': 'b6f3-11' };
  assert.deepEqual(readChallenge(403, new Headers(headers)), { oneTimeToken: 'b6f3-11' });
  assert.equal(readChallenge(200, new Headers(headers)), undefined);
  assert.equal(readChallenge(403, new Headers({ 'x-2fa-approval': 'b6f3-11' })), undefined);
  const odd = { ...headers, 'x-2fa-approval': 'a b' };
  assert.equal(readChallenge(403, new Headers(odd)), undefined);
  assert.equal(approve({ oneTimeToken: 'a' }, customer.privateKey)['x-2fa-approval'], 'a');
  assert.equal(isSigningKey(customer.privateKey), true);
  assert.equal(isSigningKey(customer.publicKey), false);
  assert.equal(isSigningKey(pem(1024).privateKey), false);
});
