import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readValues } from './documented-values.ts';
import { compare } from './exact.ts';
import {
  type CountryLookup,
  createUser,
  deliveryCases,
  fillAttributes,
  listPayers,
  type Payer,
  pay,
  payoutPath,
  type Recipient,
  readPayout,
} from './recipients.ts';
import { serveTests } from './serve.ts';
import { type Api, advance, createAccount, daySeconds, ok, type Service } from './service.ts';

/** Explanations of routing, and failover to another payer. */

let service: Service;
let api: Api;
serveTests({ USD: '100000' }, (served) => {
  ({ service, api } = served);
});

type Candidate = {
  destination_token: string;
  fee: string;
  is_chosen: boolean;
  excluded_by: string;
  score: number | null;
};
type Explained = {
  payout_token: string;
  status: string;
  decisions: { decided_at: string; refused_because: string; candidates: Candidate[] }[];
  attempts: { number: number; payer_key: string; state: string; reason: string }[];
  exceptions: { kind: string; closed_at: string }[];
};

const amount = 2000;
const delivery = deliveryCases.bank;
/** The account number that dynamic payers reject. */
const refused = readValues('Bank accounts', 'MEX MXN').get('refused_by_payer');

const costOf = ({ fee, exchange_rate: rates }: Payer) => ({
  fee,
  rate: rates.find(({ currency_symbol: code }) => code === delivery.currency)?.exchange_rate,
});

async function createRecipientOf(payer: Payer, account?: string): Promise<Recipient> {
  const userToken = await createUser(api, { country: delivery.country });
  const chosen = account === undefined ? {} : { chosen: { BankAccountNumber: account } };
  const attrSetToken = await fillAttributes(api, { userToken, payer, delivery, ...chosen });
  return { userToken, payer, delivery, attrSetToken };
}

async function explain(recipient: Recipient, payoutToken: string): Promise<Explained> {
  return ok(await api.get<Explained>(`${payoutPath(recipient, payoutToken)}/decision`));
}

async function listBankPayers(): Promise<Payer[]> {
  const path = `/country/${delivery.country}?amount=${amount}`;
  return listPayers(ok(await api.get<CountryLookup>(path)), delivery);
}

/** Dynamic payers with a cheaper equivalent. */
async function findDearDynamic(): Promise<Payer> {
  const payers = await listBankPayers();
  const found = payers.find((payer) => {
    const own = costOf(payer);
    return (
      payer.is_dynamic_token &&
      payers.some((other) => {
        const { fee, rate } = costOf(other);
        const isSame = other !== payer && other.payer_name === payer.payer_name;
        if (!isSame || rate === undefined || own.rate === undefined) return false;
        return compare(fee, own.fee) <= 0 && compare(rate, own.rate) >= 0;
      })
    );
  });
  assert.ok(found, 'no dynamic payer is dearer than another one');
  return found;
}

test('a payout explains the choice of its payer and its attempts', async () => {
  const payer = (await listBankPayers()).find((one) => !one.is_dynamic_token);
  assert.ok(payer !== undefined);
  const recipient = await createRecipientOf(payer);
  const payout = await pay(api, recipient, { source_amount: amount });
  await advance(api, 0);
  const explained = await explain(recipient, payout.payout_token);
  const [decision] = explained.decisions;
  assert.equal(explained.decisions.length, 1);
  assert.deepEqual(
    decision?.candidates.map((one) => [one.destination_token, one.is_chosen, one.excluded_by]),
    [[payer.destination_token, true, '']],
  );
  assert.deepEqual(
    explained.attempts.map(({ state }) => state),
    ['accepted'],
  );
});

test('after a rejection the best payer within the quoted cost takes over', async () => {
  const payer = await findDearDynamic();
  const recipient = await createRecipientOf(payer, refused);
  const payout = await pay(api, recipient, { source_amount: amount });
  await advance(api, 5 * daySeconds);
  assert.equal((await readPayout(api, recipient, payout.payout_token))['status'], 'COMPLETED');
  const explained = await explain(recipient, payout.payout_token);
  assert.deepEqual(
    explained.attempts.map(({ state }) => state),
    ['rejected', 'paid'],
  );
  const [first, second] = explained.decisions;
  assert.equal(
    first?.candidates.find((one) => one.is_chosen)?.destination_token,
    payer.destination_token,
  );
  assert.equal(second?.refused_because, 'payer_unavailable');
  const chosen = second.candidates.filter((one) => one.is_chosen);
  assert.equal(chosen.length, 1);
  for (const candidate of second.candidates) {
    const isBetter = candidate.excluded_by === '' && !candidate.is_chosen;
    if (isBetter) assert.ok((candidate.score ?? 0) <= (chosen[0]?.score ?? 0));
  }
  assert.deepEqual(
    second.candidates.find((one) => one.destination_token === payer.destination_token)?.excluded_by,
    'tried_before',
  );
});

test('a quote names its payer, to its own account only', async () => {
  const [payer] = await listBankPayers();
  assert.ok(payer !== undefined);
  const recipient = await createRecipientOf(payer);
  const quote = ok(
    await api.post<{ payout_token: string }>(`/payout/${recipient.userToken}`, {
      destination_token: payer.destination_token,
      destination_currency_code: delivery.currency,
      source_amount: amount,
    }),
  );
  const explained = await explain(recipient, quote.payout_token);
  assert.deepEqual(
    [explained.status, explained.attempts, explained.decisions[0]?.decided_at],
    ['PENDING', [], ''],
  );
  const { api: stranger } = await createAccount(service, {});
  const reply = await stranger.get(`${payoutPath(recipient, quote.payout_token)}/decision`);
  assert.equal(reply.status, 404);
});
