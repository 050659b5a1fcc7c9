import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import {
  findTokenId,
  formatToken,
  hashSecret,
  isUuid,
  nameId,
  newId,
  newIdAfter,
  newSecret,
  type TokenKind,
} from './ids.ts';

const kinds: readonly TokenKind[] = ['user', 'attribute', 'attributeSet', 'payout'];

test('a token is read back by its own kind only', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...kinds),
      fc.constantFrom(...kinds),
      fc.uuid(),
      (made, asked, id) => {
        assert.equal(findTokenId(asked, formatToken(made, id)), made === asked ? id : undefined);
      },
    ),
  );
});

test('a text that is not a token has no id, and nothing throws', () => {
  const id = newId();
  for (const wrong of [
    '',
    id,
    `usr_${id} `,
    ` usr_${id}`,
    `usr_${id.toUpperCase()}`,
    `USR_${id}`,
    `usr_usr_${id}`,
    `usr_${id}\0`,
    'usr_',
    `usr_{${id}}`,
    `usr_${id.replaceAll('-', '')}`,
  ]) {
    assert.equal(findTokenId('user', wrong), undefined, wrong);
  }
  fc.assert(fc.property(fc.string(), (text) => assert.equal(findTokenId('user', text), undefined)));
});

test('new identifiers differ, and ascend in the order in which they are made', () => {
  const ids = Array.from({ length: 20_000 }, newId);
  assert.equal(new Set(ids).size, ids.length);
  assert.deepEqual(ids.toSorted(), ids);
  for (const id of ids.slice(0, 100)) assert.ok(isUuid(id) && id[14] === '7');
});

test('identifiers follow a correction of the clock of the machine, and ascend where it goes back', async () => {
  // A thread has a clock, and a last identifier, of its own.
  const code = `
    const { parentPort } = require('node:worker_threads');
    import('${new URL('./ids.ts', import.meta.url).href}').then(({ newId }) => {
      const nowMs = Date.now();
      const ids = [0, 86_400_000, 0].map((aheadMs) => {
        Date.now = () => nowMs + aheadMs;
        return newId();
      });
      parentPort.postMessage(ids);
    });`;
  const [ids] = (await once(new Worker(code, { eval: true }), 'message')) as [string[]];
  const msOf = (id = '') => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  assert.equal(msOf(ids[1]) - msOf(ids[0]), 86_400_000);
  assert.ok(ids.toSorted().every((id, index) => id === ids[index]));
});

test('an identifier follows that of a process whose clock is ahead, and leaves later ones in time', () => {
  const ahead = `f${newId().slice(1)}`;
  const next = newIdAfter(ahead);
  assert.ok(isUuid(next) && next > ahead && newIdAfter(next) > next);
  assert.ok(newId() < ahead && newIdAfter(undefined) < ahead);
  const earlier = newId();
  assert.ok(newIdAfter(earlier) > earlier && newIdAfter(earlier) < ahead);
});

test('the identifier of a name is the same forever', () => {
  const namespace = '5b0c1f4e-6f0a-4d53-9a2b-2f1f3f0f6f11';
  assert.equal(nameId('MEX', namespace), nameId('MEX', namespace));
  assert.notEqual(nameId('MEX', namespace), nameId('USA', namespace));
  // RFC 9562, appendix A.4: the example of version 5.
  assert.equal(
    nameId('www.example.com', '6ba7b810-9dad-11d1-80b4-00c04fd430c8'),
    '2ed6657d-e927-568b-95e1-2665a8aea6a2',
  );
});

test('an identifier has one spelling', () => {
  const id = newId();
  assert.ok(isUuid(id));
  for (const other of [id.toUpperCase(), `{${id}}`, ` ${id}`]) assert.ok(!isUuid(other), other);
});

test('secrets have 256 bits and are kept as a hash', () => {
  const secrets = Array.from({ length: 1000 }, newSecret);
  assert.equal(new Set(secrets).size, 1000);
  for (const secret of secrets) assert.match(secret, /^[A-Za-z0-9_-]{43}$/);
  assert.equal(
    hashSecret('abc').toString('hex'),
    'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
  );
});
