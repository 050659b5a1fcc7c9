import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CommitResult,
  createRecipient,
  deliveryCases,
  describePayout,
  describeUser,
  type Payout,
  payoutPath,
  type Recipient,
} from './recipients.ts';
import { type Books, chooseSeed, createRandom, getMagicClabe } from './reliability-kit.ts';
import { type Account, type Api, advance, daySeconds, ok } from './service.ts';
import { untilAdmitted } from './until-admitted.ts';

/**
 * kill -9 under load. The log stands for a client's own records: requests and acknowledgements, each
 * written before the next request.
 */

const seed = chooseSeed();
const random = createRandom(seed);
const workersPerRound = 8;
export const funds = '1000000';

type Entry = {
  transferId: string;
  key: string;
  /** Half of the commits have a key, and are stored with their answer. */
  commitKey: string | undefined;
  recipient: Recipient;
  request: Record<string, unknown>;
  /** Set once the creation was acknowledged. */
  payout?: Payout;
  isCommitSent: boolean;
  isCommitted: boolean;
};

export type Log = { entries: Entry[]; users: { sent: Record<string, unknown>; token?: string }[] };

type Load = { api: Api; recipients: readonly Recipient[]; log: Log };

/** A client that creates and commits until a request fails or the round ends. */
async function work({ api, recipients, log }: Load, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const recipient = random.pick(recipients);
    const transferId = randomUUID();
    const source = { client_transfer_id: transferId, source_amount: 1 + random.below(200) };
    const entry: Entry = {
      transferId,
      key: randomUUID(),
      commitKey: random.below(2) === 0 ? randomUUID() : undefined,
      recipient,
      request: describePayout(recipient, source),
      isCommitSent: false,
      isCommitted: false,
    };
    log.entries.push(entry);
    entry.payout = await requestPayout(api, entry);
    entry.isCommitSent = true;
    const result = await requestCommit(api, entry);
    assert.equal(result.status, 'success', result.errors);
    entry.isCommitted = true;
    if (random.below(4) === 0) {
      const user: Log['users'][number] = { sent: describeUser() };
      log.users.push(user);
      const { user_token: token } = await untilAdmitted(async () =>
        ok(await api.post<{ user_token: string }>('/user', user.sent)),
      );
      user.token = token;
    }
  }
}

async function requestPayout(api: Api, entry: Entry): Promise<Payout> {
  const path = `/payout/${entry.recipient.userToken}`;
  const key = { 'idempotency-key': entry.key };
  return untilAdmitted(async () => ok(await api.post<Payout>(path, entry.request, key)));
}

async function requestCommit(api: Api, entry: Entry): Promise<CommitResult> {
  const path = payoutPath(entry.recipient, tokenOf(entry));
  const headers: Record<string, string> =
    entry.commitKey === undefined ? {} : { 'idempotency-key': entry.commitKey };
  return untilAdmitted(async () => ok(await api.put<CommitResult>(path, undefined, headers)));
}

const tokenOf = (entry: Entry): string => entry.payout?.['payout_token'] ?? '';
const idOf = (token: string): string => token.slice('payout_'.length);

/** Load with a crash, which clients notice as a broken connection. */
export async function workUntil(load: Load, blow: () => Promise<void>): Promise<void> {
  let isOver = false;
  let isEnded = false;
  const failures: string[] = [];
  const { log } = load;
  const workers = Array.from({ length: workersPerRound }, () =>
    work(load, () => isEnded).catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? String(error.code) : '';
      // If the database dies before its service, there are 503 first.
      const isDeath =
        /ECONNRESET|ECONNREFUSED|EPIPE/.test(code) || String(error).startsWith('Error: 503 ');
      if (!isOver || !isDeath) failures.push(String(error));
    }),
  );
  const committed = (): number => log.entries.filter((entry) => entry.isCommitted).length;
  const goal = committed() + 10 + random.below(60);
  while (committed() < goal && failures.length === 0) await sleep(1);
  isOver = true;
  await blow();
  isEnded = true;
  await Promise.all(workers);
  assert.deepEqual(failures, [], `seed ${seed}`);
}

type PayoutRow = { id: string; status: string; cost: bigint; client_transfer_id: string };

async function readPayouts(books: Books, account: Account): Promise<PayoutRow[]> {
  return books.rows<PayoutRow>(
    `select id, status, source_amount + fee as cost, client_transfer_id from payouts
     where account_id = $1`,
    [account.credentials.account],
  );
}

/** Acknowledged effects exist, others exist in full or not at all, and nothing is paid twice. */
export async function checkLog(books: Books, account: Account, log: Log): Promise<void> {
  const rows = await readPayouts(books, account);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const why = `seed ${seed}`;
  for (const entry of log.entries) {
    const made = rows.filter((row) => row.client_transfer_id === entry.transferId);
    assert.ok(made.length <= 1, `${why}: ${made.length} payouts of one creation`);
    if (entry.payout === undefined) {
      assert.ok(
        made.every(({ status }) => status === 'PENDING'),
        why,
      );
      continue;
    }
    const row = byId.get(idOf(tokenOf(entry)));
    assert.ok(row !== undefined, `${why}: an acknowledged payout is lost`);
    if (entry.isCommitted) {
      assert.match(
        row.status,
        /^(PROCESSING|COMPLETED)$/,
        `${why}: an acknowledged commit is lost`,
      );
    } else if (!entry.isCommitSent) {
      assert.equal(row.status, 'PENDING', why);
    }
  }
  const taken = rows
    .filter(({ status }) => status !== 'PENDING')
    .reduce((sum, { cost }) => sum + cost, 0n);
  const [wallet] = await books.rows<{ balance: bigint }>(
    `select balance from ledger_accounts
     where account_id = $1 and currency = 'USD' and name = 'wallet'`,
    [account.credentials.account],
  );
  assert.equal(wallet?.balance, BigInt(funds) * 100n - taken, why);
  await checkPaidOnce(books, account);
  await books.assertSound();
}

async function checkPaidOnce(books: Books, account: Account): Promise<void> {
  const accountId = account.credentials.account;
  const twice = await books.rows(
    `select payout_id, kind from ledger_transfers where account_id = $1 and payout_id is not null
     group by payout_id, kind having count(distinct journal_id) > 1`,
    [accountId],
  );
  assert.deepEqual(twice, [], `seed ${seed}: money moved twice`);
  const resent = await books.rows(
    `select payout_id from attempts where account_id = $1
     group by payout_id having count(*) > 1 or count(distinct reference) > 1`,
    [accountId],
  );
  assert.deepEqual(resent, [], `seed ${seed}: rail instructed twice`);
  const uncommitted = await books.rows(
    `select 1 from attempts a join payouts p on p.account_id = a.account_id and p.id = a.payout_id
     where p.status = 'PENDING'`,
  );
  assert.deepEqual(uncommitted, [], `seed ${seed}: paid without a commit`);
}

/** After the crash the client repeats unacknowledged requests from its log, with the same keys. */
export async function finishUnknown(api: Api, log: Log): Promise<void> {
  for (const { sent, token } of log.users) {
    const path = `/user/lookup?internal_user_id=${String(sent['internal_user_id'])}`;
    const found = await api.get<{ user_token: string }>(path);
    if (token !== undefined) assert.equal(ok(found).user_token, token, `seed ${seed}`);
    else assert.match(String(found.status), /^(200|404)$/);
  }
  for (const entry of log.entries.slice(-4 * workersPerRound)) {
    const payout = await requestPayout(api, entry);
    entry.payout ??= payout;
    assert.equal(
      payout['payout_token'],
      tokenOf(entry),
      `seed ${seed}: a second payout for one key`,
    );
  }
  for (const entry of log.entries) {
    if (entry.isCommitted || !entry.isCommitSent) continue;
    const result = await requestCommit(api, entry);
    assert.equal(result.status, 'success', result.errors);
    entry.isCommitted = true;
  }
}

/**
 * Claims of a dead process must end soon: otherwise the answer about the clock, which waits for all
 * due work, would time out.
 */
export async function checkLeases(books: Books): Promise<void> {
  const long = await books.rows(
    `select payout_id, (lease_until - clock_timestamp())::text as left from payout_dispatches
     where lease_until > clock_timestamp() + interval '10 seconds' limit 3`,
  );
  assert.deepEqual(long, [], 'claims of a dead process that last for more than ten seconds');
}

/** All committed payouts end. Leases of the dead process end in real time, so the test ends them. */
export async function finishAll(api: Api, books: Books, account: Account): Promise<void> {
  await books.rows('update payout_dispatches set lease_until = clock_timestamp()');
  await advance(api, 30 * daySeconds);
  const left = (await readPayouts(books, account)).filter(
    ({ status }) => status !== 'PENDING' && status !== 'COMPLETED',
  );
  assert.deepEqual(left, [], `seed ${seed}`);
  await checkPaidOnce(books, account);
  await books.assertSound();
}

/** A recipient who is paid immediately, and one who is paid later. */
export async function createRecipients(api: Api): Promise<Recipient[]> {
  const chosen = { BankAccountNumber: getMagicClabe('paid_at_once') };
  return [
    await createRecipient(api, deliveryCases.bank),
    await createRecipient(api, deliveryCases.bank, { chosen }),
  ];
}
