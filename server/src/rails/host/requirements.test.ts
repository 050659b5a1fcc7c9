import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type HostGround, openHostGround } from '../../../testing/setups/rail.ts';
import { readRows } from '../../../testing/setups/read-rows.ts';
import type { LogFields } from '../contract/contract.ts';
import type { RecipientRequirements, RequiredField } from '../contract/requirements.ts';
import { createRequirements } from './requirements.ts';

let ground: HostGround;
before(async () => {
  ground = await openHostGround();
});
after(() => ground.close());

const lines: { message: string; fields: LogFields }[] = [];
/** As another process has it. */
const open = (realNowMs = () => 0) =>
  createRequirements({
    db: ground.db,
    realNowMs,
    log: (_level, message, fields) => lines.push({ message, fields }),
  });

const account: RequiredField = {
  key: 'accountNumber',
  attribute: 'BankAccountNumber',
  isCompact: true,
  label: 'Account number',
  input: 'text',
  isRequired: true,
  isRefreshing: false,
};
const key = { payerKey: 'bank', currency: 'PHP', given: {} };

function ask(
  fields: readonly RequiredField[],
  changes: Partial<RecipientRequirements> = {},
): RecipientRequirements {
  return { ...key, forms: [{ type: 'account', fields }], ...changes };
}

test('each change of a payer is a new version; what did not change keeps its own', async () => {
  const all = open();
  const memory = all.memoryOf('first');
  await memory.keep([ask([account])]);
  const business = { legalType: 'BUSINESS', 'address.country': 'PH' };
  await memory.keep([ask([account], { given: business })]);
  assert.equal(memory.find(key)?.version, 1);
  assert.equal(memory.find({ ...key, given: business })?.version, 2);
  const snapshot = all.list();
  const before = memory.findAll('bank', 'PHP');
  assert.equal(before?.version, 2);
  // Read again without a change: the time is new, and what is compiled from it stays.
  await memory.keep([ask([account])]);
  assert.equal(memory.find(key)?.version, 1);
  assert.equal(all.list(), snapshot);
  await memory.keep([ask([{ ...account, lengthMax: 9 }])]);
  assert.equal(memory.find(key)?.version, 3);
  assert.notEqual(memory.findAll('bank', 'PHP'), before);
  assert.equal(memory.findAll('bank', 'PHP')?.version, 3);
  await memory.keep([ask([account])]);
  assert.equal(memory.find(key)?.version, 4, 'the earlier form again is another change');
  const rows = await readRows<{ version: number }>(ground.db.system, {
    name: '',
    text: `select version from rail_requirement_versions where rail = 'first' order by version`,
  });
  assert.deepEqual(
    rows.map(({ version }) => version),
    [1, 2, 3, 4],
  );
  assert.equal(lines.filter(({ message }) => message.includes('other details')).length, 3);
  assert.equal(open().memoryOf('first').find(key), undefined, 'nothing before the first refresh');
  assert.equal(open().list().size, 0);
});

test('another process has it after a refresh; other rails and payers do not', async () => {
  const one = open();
  await one.memoryOf('second').keep([ask([account])]);
  const other = open();
  await other.refresh();
  assert.deepEqual(other.memoryOf('second').find(key)?.forms, ask([account]).forms);
  assert.equal(other.memoryOf('third').find(key), undefined);
  assert.equal(other.memoryOf('second').find({ ...key, currency: 'USD' }), undefined);
  const snapshot = other.list();
  await other.refresh();
  assert.equal(other.list(), snapshot);
});

test('two processes that find the same change at once store one version', async () => {
  const changed = ask([{ ...account, lengthMin: 5 }]);
  const processes = [open(), open(), open()];
  await Promise.all(processes.map((one) => one.memoryOf('fourth').keep([changed])));
  await processes[0]?.refresh();
  assert.equal(processes[0]?.memoryOf('fourth').find(key)?.version, 1);
});

test('what is wanted is stored once, and those that were never read come first', async () => {
  let nowMs = 0;
  const memory = open(() => nowMs).memoryOf('fifth');
  await memory.keep([ask([account])]);
  const wanted = { ...key, given: { bankCode: 'BPI' } };
  assert.equal(await memory.want(wanted), true);
  assert.equal(await memory.want(wanted), false);
  nowMs += 86_400_000;
  assert.equal(await memory.want(wanted), true, 'a day later it is still in use');
  assert.equal(await open().memoryOf('fifth').want(wanted), true, 'another process does not know');
  assert.deepEqual(await memory.listWanted(), [wanted, key]);
  for (let at = 0; at < 310; at += 1) {
    await memory.want({ ...key, given: { bankCode: `B${at}` } });
  }
  assert.ok((await memory.listWanted()).length <= 301, 'bounded');
});

test('a form beyond the bounds is refused as a whole, and the last one stays', async () => {
  const memory = open().memoryOf('sixth');
  await memory.keep([ask([account])]);
  const hostile: readonly RequiredField[][] = [
    Array.from({ length: 61 }, (_one, at) => ({ ...account, key: `field${at}` })),
    [{ ...account, label: 'a\nb' }],
    [{ ...account, key: '' }],
    [{ ...account, pattern: 'a'.repeat(501) }],
    [{ ...account, choices: [] }],
  ];
  for (const fields of hostile) await assert.rejects(memory.keep([ask(fields)]));
  await assert.rejects(memory.keep([ask([account], { forms: [] })]));
  const long = { value: 'x'.repeat(99), label: 'y'.repeat(99) };
  const choices = Array.from({ length: 1000 }, () => long);
  const fields = Array.from({ length: 10 }, (_one, at) => ({ ...account, key: `f${at}`, choices }));
  await assert.rejects(memory.keep([ask(fields)]), /too long/);
  assert.deepEqual(memory.find(key)?.forms, ask([account]).forms);
});
