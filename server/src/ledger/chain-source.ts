import { createHash } from 'node:crypto';
import { readAuditCheckpoints, readAuditHead, readAuditLinks } from '../audit/audit.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { PublicKey } from '../core/verifying-keys.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import {
  beginProof,
  findKeptSince,
  type LedgerLinkRow,
  type LinkRow,
  listChainedAccounts,
  listEventLinks,
  listEvents,
  listJournals,
  listLedgerLinks,
  listUnlinkedJournals,
} from './chain.sql.ts';
import { type AccountChain, type Checkpoint, type LinkRecord, nilAccount } from './chain.ts';
import { type ChainProof, type ChainVerifier, createChainVerifier } from './chain-verifier.ts';
import { type Checkpoints, compareCheckpoints } from './checkpoint-proof.ts';
import { readStoredCheckpoints } from './checkpoints.sql.ts';

/** Reads the chains of a live database: to verify them, or to export them. */

const pageLinks = 200;
/** The greatest number of PostgreSQL's bigint. */
const lastSequence = 2n ** 63n - 1n;

type Owner = { session: Session; accountId: string };

/** Links of one account's journals, in the order of their numbers. */
async function* readLedgerLinks({ session, accountId }: Owner): AsyncGenerator<LinkRecord> {
  for (let after = '0'; ; ) {
    const links = await listLedgerLinks(session, { accountId, after, count: pageLinks });
    yield* await addJournals({ session, accountId }, links);
    after = links.at(-1)?.place ?? after;
    if (links.length < pageLinks) return;
  }
}

export async function addJournals(
  { session, accountId }: Owner,
  links: readonly LedgerLinkRow[],
): Promise<LinkRecord<AccountChain>[]> {
  if (links.length === 0) return [];
  // Their order is that of the numbers, unless a clock was set back between two statements.
  const byId = links.toSorted((a, b) => (a.first_id < b.first_id ? -1 : 1));
  const last = links.reduce((max, { last_id: id }) => (id > max ? id : max), '');
  const first = byId[0]?.first_id ?? last;
  const rows = await listJournals(session, { accountId, first, last });
  const rowsOf = new Map(links.map(({ place }) => [place, [] as typeof rows]));
  let position = 0;
  for (const row of rows) {
    while (position < byId.length - 1 && row.id > (byId[position]?.last_id ?? '')) position += 1;
    const link = byId[position];
    if (link !== undefined && row.id >= link.first_id && row.id <= link.last_id) {
      rowsOf.get(link.place)?.push(row);
    }
  }
  return links.map(({ first_id: _first, last_id: _last, ...link }) => ({
    account_id: accountId,
    chain: 'ledger',
    ...link,
    rows: rowsOf.get(link.place) ?? [],
  }));
}

/** Links of one account's events, in their order. */
async function* readEventLinks(owner: Owner, keptSince: Date | null): AsyncGenerator<LinkRecord> {
  const { session, accountId } = owner;
  for (let after = '0'; ; ) {
    const links = await listEventLinks(session, { accountId, after, count: pageLinks });
    yield* await addEvents(owner, links, { keptSince, after });
    after = links.at(-1)?.place ?? after;
    if (links.length < pageLinks) return;
  }
}

/** @param after the link before the first one; without it no event between the two is looked for */
export async function addEvents(
  { session, accountId }: Owner,
  links: readonly LinkRow[],
  { keptSince, after }: { keptSince: Date | null; after?: string },
): Promise<LinkRecord<AccountChain>[]> {
  const [head, tail] = [links[0], links.at(-1)];
  if (head === undefined || tail === undefined) return [];
  const before = after ?? BigInt(head.place) - BigInt(head.row_count);
  const first = BigInt(before) + 1n;
  const rows = await listEvents(session, { accountId, first, last: BigInt(tail.place) });
  const keptUs = keptSince === null ? 0n : BigInt(keptSince.getTime()) * 1000n;
  let position = 0;
  return links.map((link) => {
    const end = BigInt(link.place);
    const begin = position;
    while (position < rows.length && BigInt(rows[position]?.sequence ?? 0) <= end) position += 1;
    const isKept = BigInt(link.created_us) >= keptUs;
    const own = rows.slice(begin, position);
    return { account_id: accountId, chain: 'events', ...link, rows: isKept ? own : null };
  });
}

/** Reads all chains in one snapshot. */
export function readChains<T>(
  db: Database,
  work: (chains: {
    session: Session;
    checkpoints(): AsyncGenerator<Checkpoint>;
    /** Reports to the verifier what no link shows. */
    links(verification?: Verification): AsyncGenerator<LinkRecord>;
  }) => Promise<T>,
): Promise<T> {
  return db.systemTransaction(async (session) => {
    await beginProof(session);
    return work({
      session,
      checkpoints: () => readAllCheckpoints(session),
      links: (verification) => readAllLinks(session, verification),
    });
  });
}

async function* readAllCheckpoints(session: Session): AsyncGenerator<Checkpoint> {
  yield* readStoredCheckpoints(session);
  yield* readAuditCheckpoints(session);
}

type Verification = Pick<ChainVerifier, 'report'> & {
  /** Of the codes of audit entries. */
  vouching: Pick<KeyRing, 'isMac'> | undefined;
};

/** Of the audit log, of which each entry is a link of its own. */
async function* readAuditChain(
  session: Session,
  verification: Verification | undefined,
): AsyncGenerator<LinkRecord> {
  const audit = { account_id: nilAccount, chain: 'audit' } as const;
  let last = '0';
  const entries = readAuditLinks(session, verification?.vouching);
  for await (const { place, digest, hash, isVouched, row } of entries) {
    last = place;
    if (!isVouched) verification?.report({ ...audit, place, code: 'not_vouched' });
    const { created_us } = row;
    yield { ...audit, place, row_count: 1, digest, hash, created_us, rows: [row] };
  }
  const head = await readAuditHead(session);
  if (head.sequence === last) return;
  verification?.report({
    ...audit,
    place: head.sequence,
    code: 'end_missing',
    detail: `${head.sequence} entries were written, ${last} are there`,
  });
}

async function* readAllLinks(
  session: Session,
  verification: Verification | undefined,
): AsyncGenerator<LinkRecord> {
  yield* readAuditChain(session, verification);
  const keptSince = await findKeptSince(session);
  for (const account of await listChainedAccounts(session)) {
    const owner = { session, accountId: account.id };
    let journals = 0;
    for await (const link of readLedgerLinks(owner)) {
      journals += link.rows?.length ?? 0;
      yield link;
    }
    let last = '0';
    for await (const link of readEventLinks(owner, keptSince)) {
      last = link.place;
      yield link;
    }
    if (verification === undefined) continue;
    const at = { account_id: account.id, code: 'not_linked' } as const;
    if (journals !== account.journals) {
      const ids = (await listUnlinkedJournals(session, account.id)).map(
        ({ id }) => `journal ${id}`,
      );
      const counted = `${account.journals} journals, of which links cover ${journals}`;
      for (const detail of ids.length === 0 ? [counted] : ids) {
        verification.report({ ...at, chain: 'ledger', place: '', detail });
      }
    }
    // The account counts its events, so their end cannot be cut off unnoticed.
    if (account.event_sequence !== last) {
      const beyond = { accountId: account.id, first: BigInt(last) + 1n, last: lastSequence };
      const added = await listEvents(session, beyond);
      verification.report({
        ...at,
        code: added.length > 0 ? 'not_linked' : 'end_missing',
        chain: 'events',
        place: account.event_sequence,
        detail: `the account counts ${account.event_sequence} events, its chain ${last}`,
      });
    }
  }
}

export type LiveChainProof = ChainProof & {
  /** How many checkpoints the file has, and how many it lacks that the database has. */
  file?: { checkpoints: number; missing: number };
};

/**
 * Verifies the chains of a live database.
 *
 * @param trusted the environment's keys, and checkpoints that are kept elsewhere; without it no checkpoint
 * is compared, so that a chain that was written anew is not found
 */
export function verifyChains(
  db: Database,
  trusted?: {
    keys: readonly PublicKey[];
    outside: readonly Checkpoint[];
    /** Those of the environment's own file, which has each one before the database has it. */
    readFile?: () => Iterable<Checkpoint>;
    /** Those of the codes of audit entries; without them no code is compared. */
    vouching?: Pick<KeyRing, 'isMac'>;
  },
): Promise<LiveChainProof> {
  return readChains(db, async ({ session, checkpoints, links }) => {
    const verifier = createChainVerifier();
    const verification = { report: verifier.report, vouching: trusted?.vouching };
    for await (const link of links(verification)) verifier.add(link);
    if (trusted === undefined) return verifier.finish();
    const { keys, outside, readFile } = trusted;
    const compared = { count: 0, signedAt: '' };
    const compare = async (given: Checkpoints) => {
      const { count, signedAt } = await compareCheckpoints(session, given, {
        keys,
        ...verification,
      });
      compared.count += count;
      if (signedAt > compared.signedAt) compared.signedAt = signedAt;
    };
    const inFile = new Set<string>();
    let kept = 0;
    if (readFile !== undefined) {
      const noting = function* (): Generator<Checkpoint> {
        for (const checkpoint of readFile()) {
          inFile.add(nameStatement(checkpoint));
          kept += 1;
          yield checkpoint;
        }
      };
      await compare(noting());
    }
    await compare(outside);
    let missing = 0;
    const stored = async function* (): AsyncGenerator<Checkpoint> {
      for await (const checkpoint of checkpoints()) {
        if (!inFile.has(nameStatement(checkpoint))) missing += 1;
        yield checkpoint;
      }
    };
    await compare(stored());
    const { count, signedAt } = compared;
    const proof = { ...verifier.finish(), checkpoints: count, signed_at: signedAt };
    return readFile === undefined ? proof : { ...proof, file: { checkpoints: kept, missing } };
  });
}

/** Short, because as many as there are checkpoints are kept in memory. */
const nameStatement = ({ statement }: Checkpoint): string =>
  createHash('sha256').update(statement).digest('base64').slice(0, 16);
