import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from './commands.ts';
import {
  type CountryLookup,
  createRecipient,
  createUser,
  deliveryCases,
  findPayer,
  pay,
} from './recipients.ts';
import {
  type Api,
  type Credentials,
  createAccount,
  ok,
  type Service,
  startService,
} from './service.ts';

/** What operators stop is in the look-ups and the readiness that a client reads before committing. */

let service: Service;
let api: Api;
let credentials: Credentials;
before(async () => {
  service = await startService({ takesCommands: true });
  ({ api, credentials } = await createAccount(service, { USD: '1000' }));
});
after(() => service.stop());

type Payers = { available: boolean; unavailable_reason: string; delivery: string }[];
const bank = deliveryCases.bank;

async function lookUp(token = api): Promise<Payers> {
  const { companies } = ok(await token.get<CountryLookup>(`/country/${bank.country}`));
  return companies
    .flatMap(({ services }) => services)
    .flatMap(({ delivery_type: delivery, payers }) =>
      (payers as unknown as Payers).map((payer) => ({ ...payer, delivery })),
    );
}

/** Processes notice it within a second. */
async function waitFor(read: () => Promise<boolean>): Promise<void> {
  for (const endMs = performance.now() + 60_000; !(await read()); await sleep(200)) {
    assert.ok(performance.now() < endMs, 'the look-ups do not show it');
  }
}

const reasonOf = ({ unavailable_reason: reason }: Payers[number]): string => reason;
const why = ['--reason', 'a drill'];

test('a stop shows as unavailable with its reason until it is lifted', async () => {
  assert.ok((await lookUp()).every((one) => one.available && reasonOf(one) === ''));
  const corridor = ['--country', bank.country, '--delivery-type', bank.deliveryType];
  await runCommand(service, ['freeze', 'corridor', ...corridor, ...why]);
  const isBank = ({ delivery }: Payers[number]): boolean => delivery === bank.deliveryType;
  await waitFor(async () => (await lookUp()).some(({ available }) => !available));
  for (const payer of await lookUp()) {
    assert.equal(payer.available, !isBank(payer));
    assert.equal(reasonOf(payer), isBank(payer) ? 'corridor_frozen' : '');
  }
  const userToken = await createUser(api, { country: bank.country });
  const { destination_token: destination } = await findPayer(api, bank);
  const query = `destination_token=${destination}&currency=${bank.currency}`;
  const readiness = ok(
    await api.get<{ obstacles: { code: string }[] }>(`/user/${userToken}/readiness?${query}`),
  );
  assert.ok(readiness.obstacles.some(({ code }) => code === 'corridor_frozen'));

  const { payout_token: stopped } = await pay(api, await createRecipient(api, bank));
  const explained = await runCommand(service, ['payout', 'explain', stopped, '--json']);
  assert.equal(explained['waits_for'], 'the end of a freeze: corridor');

  await runCommand(service, ['freeze', 'account', '--account', credentials.account, ...why]);
  await waitFor(async () => (await lookUp()).every((one) => reasonOf(one) === 'account_frozen'));
  // Another account sees the corridor only.
  const other = await createAccount(service);
  const seen = new Set((await lookUp(other.api)).map(reasonOf));
  assert.deepEqual(seen, new Set(['corridor_frozen', '']));
  const listed = (await runCommand(service, ['freeze', 'list'])) as unknown as { id: string }[];
  for (const { id } of listed)
    await runCommand(service, ['freeze', 'lift', '--freeze', id, ...why]);
  await waitFor(async () => (await lookUp()).every(({ available }) => available));
});
