import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openTestHost, type TestHost } from '../../../testing/setups/rail.ts';
import { readRows } from '../../../testing/setups/read-rows.ts';
import type { InboundMessage } from '../contract/contract.ts';
import { readMessage } from './messages.ts';

describe('the store of a rail', () => {
  let host: TestHost;
  before(async () => {
    host = await openTestHost({ name: 'memory' });
  });
  after(() => host.close());

  const put = (
    key: string,
    revision: number,
    next: string | { state: string; value: unknown },
  ) => ({
    collection: 'payments',
    key,
    revision,
    next: typeof next === 'string' ? { state: next, value: { of: key } } : next,
  });

  it('finds a record with its state, its revision and its value', async () => {
    assert.equal(await host.store.get('payments', 'none'), undefined);
    assert.equal(
      await host.store.write([
        put('a', 0, { state: 'new', value: { name: 'Ana', list: [1, '2'] } }),
      ]),
      true,
    );
    assert.deepEqual(await host.store.get('payments', 'a'), {
      key: 'a',
      state: 'new',
      revision: 1,
      value: { name: 'Ana', list: [1, '2'] },
    });
  });

  it('makes a record once, however many want to', async () => {
    const attempts = Array.from({ length: 20 }, (_, number) =>
      host.again().store.write([put('once', 0, { state: 'new', value: { number } })]),
    );
    const made = await Promise.all(attempts);
    assert.equal(made.filter(Boolean).length, 1);
  });

  it('writes all changes or none', async () => {
    await host.store.write([put('b', 0, 'new')]);
    assert.equal(await host.store.write([put('c', 0, 'new'), put('b', 7, 'done')]), false);
    assert.equal(await host.store.get('payments', 'c'), undefined);
    assert.equal(await host.store.write([put('b', 1, 'done'), put('a', 0, 'new')]), false);
    assert.equal((await host.store.get('payments', 'b'))?.state, 'new');
    assert.equal(await host.store.write([put('b', 1, 'done'), put('c', 0, 'new')]), true);
    assert.equal((await host.store.get('payments', 'b'))?.revision, 2);
  });

  it('counts without a gap under many writers', async () => {
    await host.store.write([put('counter', 0, { state: '', value: 0 })]);
    const count = async (): Promise<void> => {
      for (;;) {
        const record = await host.store.get('payments', 'counter');
        assert.ok(record !== undefined);
        const next = Number(record.value) + 1;
        if (await host.store.write([put('counter', record.revision, { state: '', value: next })]))
          return;
      }
    };
    await Promise.all(Array.from({ length: 25 }, count));
    assert.equal((await host.store.get('payments', 'counter'))?.value, 25);
  });

  it('lists in the order of the keys, by state, and after a key', async () => {
    const keys = ['Z', 'a1', 'B', '0'];
    await host.store.write(
      keys.map((key) => ({ ...put(key, 0, key === 'B' ? 'odd' : 'even'), collection: 'listed' })),
    );
    const list = async (query: { state?: string; after?: string; count: number }) =>
      (await host.store.list('listed', query)).map(({ key }) => key);
    assert.deepEqual(await list({ count: 10 }), ['0', 'B', 'Z', 'a1']);
    assert.deepEqual(await list({ state: 'even', count: 2 }), ['0', 'Z']);
    assert.deepEqual(await list({ state: 'even', after: 'Z', count: 2 }), ['a1']);
  });

  it('removes a record at its revision', async () => {
    await host.store.write([put('gone', 0, 'new')]);
    const remove = { collection: 'payments', key: 'gone', revision: 1, next: undefined };
    assert.equal(await host.store.write([{ ...remove, revision: 2 }]), false);
    assert.equal(await host.store.write([remove]), true);
    assert.equal(await host.store.get('payments', 'gone'), undefined);
  });

  it('keeps no value in the clear', async () => {
    await host.store.write([
      put('secret', 0, { state: 'new', value: { account: 'DE89370400440532013000' } }),
    ]);
    const [row] = await readRows<{ text: string }>(host.db.system, {
      name: '',
      text: `select encode(sealed, 'escape') as text from rail_records where key = 'secret'`,
    });
    assert.ok(row !== undefined && !row.text.includes('DE8937'));
  });
});

describe('inbound messages of a rail', () => {
  let host: TestHost;
  before(async () => {
    host = await openTestHost({ name: 'ears' });
  });
  after(() => host.close());

  const message = (id: string, observationIds: readonly string[]): InboundMessage => ({
    id,
    channel: 'callback',
    raw: Buffer.from('{"name":"Ana"}'),
    observations: observationIds.map((observationId) => ({
      id: observationId,
      reference: '0'.repeat(32),
      outcome: 'paid',
      amountMinor: 5n,
      charges: [{ id: 'c', kind: 'bank', currency: 'EUR', amountMinor: 1n }],
      atMs: 0,
    })),
  });
  const count = async (): Promise<number> => {
    const rows = await readRows(host.db.system, {
      name: '',
      text: 'select from rail_observations',
    });
    return rows.length;
  };

  it('finds a message by its id, or by a beginning of its id that no other has', async () => {
    const ids = [
      '91d5949d601e-first',
      '91d5949d601e-second',
      '77aa949d601e',
      '77aa949d601e-longer',
    ];
    for (const id of ids) {
      await host.receive({ ...message(id, []), raw: Buffer.from(id) });
    }
    const services = { session: host.db.system, keys: host.keys };
    const read = async (id: string, rail = 'ears') =>
      (await readMessage(services, { rail, id })).toString();
    assert.equal(await read('91d5949d601e-s'), '91d5949d601e-second');
    assert.equal(await read('77aa949d601e'), '77aa949d601e', 'the whole id wins');
    await assert.rejects(read('91d5949d601e'), { code: 'invalid_request' });
    await assert.rejects(read('91d5949d601'), { code: 'not_found' }, 'too short a beginning');
    await assert.rejects(read('91d5949d601e-s', 'other'), { code: 'not_found' });
  });

  it('keeps a message once', async () => {
    assert.equal(await host.receive(message('m1', ['o1', 'o2'])), 'new');
    assert.equal(await host.receive(message('m1', ['o1', 'o2'])), 'known');
    assert.equal(await count(), 2);
  });

  it('keeps what two messages say once', async () => {
    assert.equal(await host.receive(message('m2', ['o2', 'o3'])), 'new');
    assert.equal(await count(), 3);
  });

  it('refuses what has no form', async () => {
    const wrong = message('m3', ['o9']);
    const [observation] = wrong.observations;
    assert.ok(observation !== undefined);
    await assert.rejects(
      host.receive({ ...wrong, observations: [{ ...observation, amountMinor: -1n }] }),
      /positive/,
    );
    assert.equal(await count(), 3);
  });

  it('opens one exception for each problem and counts those that are open', async () => {
    assert.equal(await host.countUnresolvedInbound(), 0);
    const problem = {
      id: 'file-7/batch-2',
      kind: 'unmatched',
      detail: 'return R03 of trace 091000010000001',
      currency: 'USD',
      amountMinor: 12_345n,
    } as const;
    const other = { id: 'file-7', kind: 'unreadable', detail: 'file-7: not UTF-8' } as const;
    assert.equal(await host.receive({ ...message('m4', []), problems: [problem, other] }), 'new');
    assert.equal(await host.receive({ ...message('m5', []), problems: [problem] }), 'new');
    assert.equal(await host.countUnresolvedInbound(), 2);
    const rows = await readRows(host.db.system, {
      name: '',
      text: `select kind, detail, currency, amount, rail from exceptions order by kind`,
    });
    assert.deepEqual(rows, [
      {
        kind: 'unmatched',
        detail: problem.detail,
        currency: 'USD',
        amount: 12_345n,
        rail: 'ears',
      },
      { kind: 'unreadable', detail: other.detail, currency: null, amount: null, rail: 'ears' },
    ]);
    await readRows(host.db.system, {
      name: '',
      text: `update exceptions set closed_at = now(), resolution = 'dismissed by ada'`,
    });
    assert.equal(await host.countUnresolvedInbound(), 0);
    assert.equal(await host.receive({ ...message('m6', []), problems: [problem] }), 'new');
    assert.equal(await host.countUnresolvedInbound(), 0, 'a resolved problem stays resolved');
  });

  it('opens an exception for a known observation that comes again with other content', async () => {
    const said = message('m7', ['o7']);
    const [observation] = said.observations;
    assert.ok(observation !== undefined);
    await host.receive(said);
    assert.equal(await host.countUnresolvedInbound(), 0);
    const changed = { ...said, observations: [{ ...observation, amountMinor: 6n }] };
    assert.equal(await host.receive(changed), 'new');
    assert.equal(await host.receive(changed), 'known');
    assert.equal(await host.receive(said), 'known');
    const [row] = await readRows<{ detail: string }>(host.db.system, {
      name: '',
      text: `select detail from exceptions where kind = 'report_changed'`,
    });
    assert.match(row?.detail ?? '', /^o7 was 0{32} paid 5, came again as 0{32} paid 6$/);
    assert.equal(await host.countUnresolvedInbound(), 1);
    const [kept] = await readRows<{ amount: bigint }>(host.db.system, {
      name: '',
      text: `select amount from rail_observations where id = 'o7'`,
    });
    assert.equal(kept?.amount, 5n, 'the first content stays');
  });

  it('opens an exception where the same observation comes twice at once with other content', async () => {
    const counted = await count();
    await Promise.all(
      Array.from({ length: 6 }, (_, number) => {
        const one = message(`at-once-${number}`, ['o8']);
        const observations = one.observations.map((said) => ({
          ...said,
          amountMinor: BigInt(number < 3 ? 5 : 6),
        }));
        return host.receive({ ...one, observations });
      }),
    );
    assert.equal((await count()) - counted, 1);
    const rows = await readRows(host.db.system, {
      name: '',
      text: `select from exceptions where kind = 'report_changed' and detail like 'o8 was %'`,
    });
    assert.equal(rows.length, 1);
  });
});
