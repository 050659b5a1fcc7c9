import { randomUUID } from 'node:crypto';
import { formatToken } from '../../server/src/core/ids.ts';
import { drive } from '../drive.ts';
import { type Owner, payoutMinor, type ReadyPayout } from '../fixture.ts';
import { measureHttp } from '../http-load.ts';
import { formatRequest, openConnections } from '../load.ts';
import {
  describeOverdraft,
  describeSameKey,
  type LoadShape,
  type Measure,
  type Place,
  type RaceResult,
  raceCommands,
  raceCovered,
  type Subject,
} from '../subject.ts';
import { createReserve } from './environment.ts';
import { type Service, startService, version } from './service.ts';

/** The service over HTTP: one process of its own, one request per payout and step. */
export type HttpSubjects = {
  commit: Subject;
  create: Subject;
  createAndCommit: Subject;
  balance: Subject;
  cheapest: Subject;
  /** What a bare server has to answer to do as much as `balance`. */
  getBalanceExchange(): { body: string; request: string };
};

type Prepared = {
  service: Service;
  reserve: ReturnType<typeof createReserve>;
  apiKeys: Map<string, string>;
  balanceBody: string;
  create: string;
  balance: string;
  cheapest: string;
};

export function createHttpSubjects(): HttpSubjects {
  let preparing: Promise<Prepared> | undefined;
  let prepared: Prepared | undefined;
  const get = (): Prepared => {
    if (prepared === undefined) throw new Error('not prepared');
    return prepared;
  };
  const define = (
    name: string,
    run: (parts: Prepared, load: LoadShape) => Promise<Measure>,
  ): Subject => ({
    name: `outlay over HTTP, ${name}`,
    prepare: async (place: Place) => {
      preparing ??= prepareHttp(place);
      prepared = await preparing;
    },
    processId: () => prepared?.service.processId,
    run: (load) => run(get(), load),
    close: async () => {
      const parts = await preparing;
      preparing = undefined;
      await parts?.service.close();
    },
  });
  const repeat =
    (request: (parts: Prepared) => string) =>
    (parts: Prepared, load: LoadShape): Promise<Measure> =>
      measureHttp(parts.service.port, load, () => request(parts));
  return {
    commit: {
      ...define('commit', runCommits),
      races: async () => [await raceOverdraft(get().service), await raceSameKey(get().service)],
      check: () => get().service.fixture.check(),
    },
    create: define(
      'create',
      repeat((parts) => parts.create),
    ),
    createAndCommit: define('create + commit', runCreateAndCommit),
    balance: define(
      'balance',
      repeat((parts) => parts.balance),
    ),
    cheapest: define(
      'cheapest',
      repeat((parts) => parts.cheapest),
    ),
    getBalanceExchange: () => ({ body: get().balanceBody, request: get().balance }),
  };
}

async function prepareHttp(place: Place): Promise<Prepared> {
  const service = await startService(place, { name: 'ours_http' });
  const { hot } = service.fixture;
  const token = hot.apiKey;
  const destination = await service.prepareDestination();
  const balancePath = `${version}/account/balance`;
  return {
    service,
    reserve: createReserve(service.fixture, 7000),
    apiKeys: new Map([[hot.accountId, token]]),
    balanceBody: await service.call(hot, { method: 'GET', path: balancePath }),
    balance: formatRequest({ method: 'GET', path: balancePath, token }),
    cheapest: formatRequest({
      method: 'GET',
      path: `${version}/country/MEX/cheapest?amount=200`,
      token,
    }),
    create: formatRequest({
      method: 'POST',
      path: `${version}/payout/${formatToken('user', hot.userId)}`,
      token,
      body: {
        destination_token: destination,
        destination_currency_code: 'MXN',
        source_amount: 100.1,
      },
    }),
  };
}

export function formatPath({ userId, payoutId }: { userId: string; payoutId: string }): string {
  return `${version}/payout/${formatToken('user', userId)}/${formatToken('payout', payoutId)}`;
}

async function runCommits(parts: Prepared, load: LoadShape): Promise<Measure> {
  const { service, reserve, apiKeys } = parts;
  const payouts = await reserve.take(load.workload, load.seconds);
  if (load.workload !== 'hot' && apiKeys.size === 1) {
    for (const owner of service.fixture.listOwners()) apiKeys.set(owner.accountId, owner.apiKey);
  }
  const next = (): string | undefined => {
    const payout: ReadyPayout | undefined = payouts.pop();
    if (payout === undefined) return undefined;
    const token = apiKeys.get(payout.accountId) ?? '';
    return formatRequest({ method: 'PUT', path: formatPath(payout), token });
  };
  const measure = await measureHttp(service.port, load, next);
  reserve.noteRate(load.workload, measure.count / measure.seconds);
  return measure;
}

/** Counts payouts: each is created by one request and committed by the next of its connection. */
async function runCreateAndCommit(
  { service, create }: Prepared,
  load: LoadShape,
): Promise<Measure> {
  const { hot } = service.fixture;
  const user = formatToken('user', hot.userId);
  const connections = openConnections(service.port, load.inFlight);
  const free = [...connections];
  const payOne = async (): Promise<void> => {
    const connection = free.pop();
    if (connection === undefined) throw new Error('no connection is free');
    const made = await connection.ask(create);
    const { payout_token: payout } = JSON.parse(made.body) as { payout_token: string };
    const path = `${version}/payout/${user}/${payout}`;
    const answer = await connection.ask(formatRequest({ method: 'PUT', path, token: hot.apiKey }));
    if (!answer.body.includes('success')) throw new Error(`not committed: ${answer.body}`);
    free.push(connection);
  };
  try {
    return await drive(load, payOne);
  } finally {
    for (const connection of connections) connection.close();
  }
}

async function raceOverdraft(service: Service): Promise<RaceResult> {
  const owner = await service.fixture.createOwner(BigInt(raceCovered) * payoutMinor);
  const payouts = await service.fixture.makePayouts(raceCommands, owner);
  const bodies = await Promise.all(
    payouts.map((payout) => service.call(owner, { method: 'PUT', path: formatPath(payout) })),
  );
  const paid = bodies.filter((body) => isSuccess(body)).length;
  return describeOverdraft(paid, await service.fixture.readWallet(owner.accountId));
}

/** The same payout from many sides, half of them with one Idempotency-Key. */
async function raceSameKey(service: Service): Promise<RaceResult> {
  const owner: Owner = await service.fixture.createOwner(payoutMinor * 1000n);
  const [payout] = await service.fixture.makePayouts(1, owner);
  if (payout === undefined) throw new Error('no payout');
  const key = randomUUID();
  const commit = (index: number) =>
    service.tryCall(owner, {
      method: 'PUT',
      path: formatPath(payout),
      headers: index % 2 === 0 ? {} : { 'idempotency-key': key },
    });
  await Promise.all(Array.from({ length: raceCommands }, (_, index) => commit(index)));
  return describeSameKey(await service.fixture.countEffects(payout.payoutId));
}

function isSuccess(body: string): boolean {
  return Object.values(JSON.parse(body) as Record<string, unknown>).includes('success');
}
