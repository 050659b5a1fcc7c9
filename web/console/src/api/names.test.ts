import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Api, User } from './client.ts';
import { loadName } from './names.ts';

const describe = (token: string): User =>
  ({
    user_token: token,
    first_name: token === 'erased' ? '' : 'Ana',
    middle_name: '',
    last_name: token === 'erased' ? '' : token,
    business_name: '',
  }) as User;

function open(answer: (tokens: string[]) => User[]): {
  api: Pick<Api, 'readPage'>;
  asked: string[][];
} {
  const asked: string[][] = [];
  const api = {
    readPage: async (_path: string, { user_tokens: tokens = '' }: { user_tokens?: string }) => {
      asked.push(tokens.split(','));
      return { rows: answer(tokens.split(',')), next: undefined };
    },
  } as unknown as Pick<Api, 'readPage'>;
  return { api, asked };
}

test('the names of a page are asked for in one request, each once', async () => {
  const { api, asked } = open((tokens) => tokens.map(describe));
  const tokens = Array.from({ length: 50 }, (_, index) => `usr_${index % 40}`);
  const names = await Promise.all([...tokens, 'erased'].map((token) => loadName(api, token)));
  assert.equal(names[7], 'Ana usr_7');
  assert.equal(names.at(-1), 'Erased recipient');
  assert.deepEqual([asked.length, asked[0]?.length], [1, 41]);
  assert.equal(await loadName(api, 'usr_1'), 'Ana usr_1');
  assert.equal(asked.length, 2);
});

test('more than a request takes are asked for in several', async () => {
  const { api, asked } = open((tokens) => tokens.map(describe));
  await Promise.all(Array.from({ length: 150 }, (_, index) => loadName(api, `usr_${index}`)));
  assert.deepEqual(
    asked.map(({ length }) => length),
    [100, 50],
  );
});

test('a recipient that is missing fails alone, and a failed request for all', async () => {
  const { api } = open((tokens) => tokens.filter((token) => token !== 'gone').map(describe));
  const [found, missing] = await Promise.allSettled([
    loadName(api, 'there'),
    loadName(api, 'gone'),
  ]);
  assert.deepEqual([found.status, missing.status], ['fulfilled', 'rejected']);
  const { api: failing } = open(() => {
    throw new Error('not reachable');
  });
  const all = await Promise.allSettled([loadName(failing, 'a'), loadName(failing, 'b')]);
  assert.ok(all.every(({ status }) => status === 'rejected'));
});
