import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient } from '../../../../../sdk/src/client.ts';
import { commitOrFind, isOutcomeUnknown } from './commit.ts';

const which = { user_token: 'usr_1', payout_token: 'payout_1' };

/** The answers of the service, in their order; undefined for one that is lost. */
function connect(statuses: readonly (number | undefined)[]) {
  const left = [...statuses];
  return createClient({
    baseUrl: 'https://api.example.org',
    credential: { apiKey: 'session' },
    retry: { retries: 1, baseMs: 1 },
    fetch: async () => {
      const status = left.shift();
      if (status === undefined) throw new TypeError('fetch failed');
      const problem = { status, code: 'x', detail: 'x', title: 'x', request_id: 'r', errors: [] };
      const body = status === 200 ? { ...which, status: 'PROCESSING' } : problem;
      return Response.json(body, { status });
    },
  });
}

test('a refusal after a lost answer leaves the outcome of a commit unknown', async () => {
  const found = await commitOrFind(connect([undefined, 403, 200]), which);
  assert.equal('found' in found && found.found.status, 'PROCESSING');
  await assert.rejects(
    commitOrFind(connect([403]), which),
    (error: unknown) => !isOutcomeUnknown(error),
  );
});

test('a look-up that is refused does not make a lost commit a refused one', async () => {
  const lost = connect([undefined, undefined, 401]);
  await assert.rejects(commitOrFind(lost, which), (error: unknown) => isOutcomeUnknown(error));
});

test('a second look-up that is refused leaves the outcome unknown, and a refusal of the payout settles it', async () => {
  const isUnknownAfter = async (status: number) => {
    const error: unknown = await commitOrFind(connect([status]), which).catch(
      (one: unknown) => one,
    );
    return [isOutcomeUnknown(error), isOutcomeUnknown(error, true)];
  };
  for (const status of [401, 403]) assert.deepEqual(await isUnknownAfter(status), [false, true]);
  for (const status of [404, 422]) assert.deepEqual(await isUnknownAfter(status), [false, false]);
});
