import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { getCurrency } from '../../server/src/core/currency.ts';
import { formatAmount } from '../../server/src/core/money.ts';
import { exact } from '../exact.ts';
import {
  attributePath,
  type CommitResult,
  type CountryLookup,
  chooseValues,
  createUser,
  describePayout,
  listPayers,
  type Payer,
  type Payout,
  payoutPath,
  type Recipient,
  readAttributes,
} from '../recipients.ts';
import type { createRandom } from '../reliability-kit.ts';
import { type Api, ok, type Reply } from '../service.ts';
import type { Counterpart, Destination } from './counterpart.ts';
import type { Entry, Journal } from './journal.ts';

/** Clients in a closed loop: each asks until it has an answer, whatever dies meanwhile. */

export type Target = {
  readonly rail: string;
  readonly destination: Destination;
  readonly recipient: Recipient;
};

export type Load = {
  /** The same account through each process that may be up. */
  readonly apis: () => readonly Api[];
  readonly targets: readonly Target[];
  readonly journal: Journal;
  readonly random: ReturnType<typeof createRandom>;
  readonly isOver: () => boolean;
  readonly counts: LoadCounts;
};

export type LoadCounts = {
  acknowledged: number;
  /** Commits asked for again that had been answered before. */
  repeated: number;
  /** Requests without an answer because the process died. */
  broken: number;
  /** Answers of 500 and more other than 503, with the first text. */
  failed: number;
  failure: string;
  /** Answers of 503, after which the client asks again. */
  unavailable: number;
  refused: number;
  refusal: string;
};

export function createCounts(): LoadCounts {
  return {
    acknowledged: 0,
    repeated: 0,
    broken: 0,
    failed: 0,
    failure: '',
    unavailable: 0,
    refused: 0,
    refusal: '',
  };
}

/** One recipient for each destination, with its details stored. */
export async function createTargets(
  api: Api,
  counterparts: readonly Counterpart[],
): Promise<Target[]> {
  const targets: Target[] = [];
  for (const { rail, destinations } of counterparts) {
    for (const destination of destinations) {
      targets.push({ rail, destination, recipient: await createTarget(api, destination) });
    }
  }
  return targets;
}

async function createTarget(api: Api, { way, payerName, values }: Destination): Promise<Recipient> {
  const userToken = await createUser(api, {
    country: way.country,
    address1: 'Main Street 1',
    city: 'Springfield',
    postal_code: '10115',
  });
  const payer = await findNamedPayer(api, { way, payerName });
  const destination = {
    userToken,
    destinationToken: payer.destination_token,
    currency: way.currency,
  };
  const chosen = chooseValues(way, await readAttributes(api, destination), values);
  const path = attributePath(destination);
  const stored = ok(await api.post<{ attr_set_token: string }>(path, { values: chosen }));
  return { userToken, payer, delivery: way, attrSetToken: stored.attr_set_token };
}

async function findNamedPayer(
  api: Api,
  { way, payerName }: Pick<Destination, 'way' | 'payerName'>,
): Promise<Payer> {
  const path = `/country/${way.country}/cheapest?destination_currency=${way.currency}`;
  const payers = listPayers(ok(await api.get<CountryLookup>(path)), way);
  const payer = payers.find(({ payer_name: name }) =>
    payerName === undefined ? !name.startsWith('Trial ') : name === payerName,
  );
  if (payer === undefined) throw new Error(`${payerName} is not offered in ${way.country}`);
  return payer;
}

/** In minor units; no two payouts of a rail have the same one, so that it tells them apart. */
function chooseAmount(currency: string, count: number): bigint {
  const { scale, isCrypto } = getCurrency(currency);
  const unit = 10n ** BigInt(scale);
  const first: Readonly<Record<string, bigint>> = { ETH: unit / 100n, LTC: unit / 100n };
  return (first[currency] ?? (isCrypto ? 5n * unit : 100n * unit)) + BigInt(count);
}

export async function runClient(load: Load): Promise<void> {
  const { random, journal, isOver } = load;
  while (!isOver()) {
    const { rail, destination, recipient } = random.pick(load.targets);
    const { currency } = destination.way;
    const entry: Entry = {
      transferId: randomUUID(),
      rail,
      destination,
      currency,
      amountMinor: chooseAmount(currency, journal.entries.length),
      payoutIds: [],
      acknowledged: undefined,
      others: [],
    };
    journal.add(entry);
    await pay(load, entry, recipient);
    await sleep(random.below(700));
  }
}

async function pay(load: Load, entry: Entry, recipient: Recipient): Promise<void> {
  const { random, counts } = load;
  const chance = random.below(100);
  const payoutId = await makeQuote(load, entry, recipient);
  // The same transfer in another quote, which is committed as well.
  const twin = chance < 10 ? await makeQuote(load, entry, recipient) : undefined;
  const key = randomUUID();
  const result = await commit(load, { entry, recipient, payoutId, key });
  if (result.status !== 'success') {
    counts.refused += 1;
    counts.refusal ||= `${entry.rail}: ${JSON.stringify(result)}`;
    return;
  }
  counts.acknowledged += 1;
  if (twin !== undefined) {
    counts.repeated += 1;
    await commit(load, { entry, recipient, payoutId: twin, key: randomUUID() });
  } else if (chance < 30) {
    // The same commit again: with its key, or as a stranger to it.
    const again = chance < 20 ? key : randomUUID();
    await commit(load, { entry, recipient, payoutId, key: again });
    counts.repeated += 1;
  }
}

async function makeQuote(load: Load, entry: Entry, recipient: Recipient): Promise<string> {
  const amount = formatAmount(entry.amountMinor, getCurrency(entry.currency));
  const body = describePayout(recipient, {
    client_transfer_id: entry.transferId,
    destination_amount: exact(amount),
  });
  const headers = { 'idempotency-key': randomUUID() };
  const payout = await ask<Payout>(load, (api) =>
    api.post(`/payout/${recipient.userToken}`, body, headers),
  );
  const payoutId = (payout['payout_token'] ?? '').slice('payout_'.length);
  load.journal.writeQuote(entry, payoutId);
  return payoutId;
}

type Commit = { entry: Entry; recipient: Recipient; payoutId: string; key: string };

async function commit(load: Load, order: Commit): Promise<CommitResult> {
  const path = payoutPath(order.recipient, `payout_${order.payoutId}`);
  const headers = { 'idempotency-key': order.key };
  const result = await ask<CommitResult>(load, (api) => api.put(path, undefined, headers));
  if (result.status === 'success') load.journal.writeAcknowledged(order.entry, order.payoutId);
  return result;
}

const patienceMs = 180_000;

/** The answer to a request that is made until there is one. */
async function ask<T>(load: Load, call: (api: Api) => Promise<Reply<T>>): Promise<T> {
  const { counts, random } = load;
  const untilMs = performance.now() + patienceMs;
  let last = '';
  while (performance.now() < untilMs) {
    const apis = load.apis();
    if (apis.length > 0) {
      try {
        const reply = await call(random.pick(apis));
        if (reply.status === 200) return reply.body;
        last = `${reply.status} ${reply.text.slice(0, 500)}`;
        const isPassing = reply.status === 429 || reply.status === 503 || isUnderWay(reply);
        if (reply.status === 503) counts.unavailable += 1;
        if (!isPassing && reply.status < 500) throw new RefusedRequest(last);
        if (!isPassing) {
          counts.failed += 1;
          counts.failure ||= last;
        }
      } catch (error) {
        if (error instanceof RefusedRequest) throw error;
        counts.broken += 1;
        last = String(error);
      }
    }
    await sleep(20 + random.below(60));
  }
  throw new Error(`no answer for ${patienceMs / 1000} s: ${last}`);
}

/** The first request of this key, which a process may have died over, is not over yet. */
function isUnderWay({ status, text }: Pick<Reply, 'status' | 'text'>): boolean {
  return status === 409 && text.includes('idempotency_in_progress');
}

/** The client asked for something impossible: the trial itself is wrong. */
class RefusedRequest extends Error {}
