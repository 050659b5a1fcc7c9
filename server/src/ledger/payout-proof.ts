import { z } from 'zod';
import { type PublicKey, readPublicKeys } from '../core/verifying-keys.ts';
import type { Session } from '../db/postgres/pool.ts';
import {
  findKeptSince,
  findLinkOfEvent,
  listEventLinks,
  listLedgerLinks,
  listPayoutEvents,
  listPayoutLedgerLinks,
} from './chain.sql.ts';
import {
  type AccountChain,
  type CheckpointStatement,
  chainRows,
  checkpointSchema,
  digestRows,
  type EventRow,
  hashLink,
  hashRow,
  isSigned,
  type JournalRow,
  type LinkRecord,
  linkColumns,
  linkHash,
  parseChainJson,
  readStatement,
  rowHash,
} from './chain.ts';
import { addEvents, addJournals } from './chain-source.ts';
import { findCheckpointAfter } from './checkpoints.sql.ts';
import { type CheckpointServices, signAccount } from './checkpoints.ts';

/**
 * A proof about one payout: its journals and events, the links that cover them, and the links from each
 * of those to a head that the environment has signed. The other rows of a link are hashes only.
 */

const provedLink = <Name extends AccountChain>(chain: Name) =>
  z.object({
    chain: z.literal(chain),
    place: linkColumns.place,
    created_us: linkColumns.created_us,
    previous: linkHash.describe('The hash of the link before it; "" for the first one'),
    rows: z.array(z.object({ row_hash: rowHash, row: chainRows[chain].optional() })),
    path: z.array(z.object(linkColumns)).describe('From the next link on to the signed one'),
    checkpoint: checkpointSchema,
  });
const proofSchema = z.object({
  account_id: z.guid(),
  payout_id: z.guid(),
  links: z.array(z.discriminatedUnion('chain', [provedLink('ledger'), provedLink('events')])),
});
export type PayoutProof = z.output<typeof proofSchema>;
type ProvedLink = PayoutProof['links'][number];

/** @throws ChainFileError unless the text is a proof of a payout, which is not verified yet. */
export function readPayoutProof(text: string): PayoutProof {
  return parseChainJson(text, proofSchema, 'the proof');
}

type Owner = { session: Session; accountId: string };
type Payout = { accountId: string; payoutId: string };

/** Signs the account's heads where a link of the payout is not signed yet. */
export async function provePayout(
  services: CheckpointServices,
  session: Session,
  { accountId, payoutId }: Payout,
): Promise<PayoutProof> {
  const owner = { session, accountId };
  const links = await findLinks(owner, payoutId);
  const proved: ProvedLink[] = [];
  for (const link of links) {
    const find = () => findCheckpointAfter(session, accountId, link);
    let checkpoint = await find();
    if (checkpoint === undefined) {
      await signAccount(services, accountId);
      checkpoint = await find();
    }
    if (checkpoint === undefined) throw new Error('impossible: the head of the account is signed');
    const signedPlace = readStatement(checkpoint)[link.chain].place;
    proved.push({
      chain: link.chain,
      place: link.place,
      created_us: link.created_us,
      previous: await findPrevious(owner, link),
      rows: (link.rows ?? []).map((row) => ({
        row_hash: hashRow(row).toString('hex'),
        ...(isAbout(row, payoutId) && { row }),
      })),
      path: await readPath(owner, link, signedPlace),
      checkpoint,
    });
  }
  return { account_id: accountId, payout_id: payoutId, links: proved };
}

function isAbout(row: JournalRow | EventRow, payoutId: string): boolean {
  return ('sequence' in row ? row.subject_id : row.payout_id) === payoutId;
}

async function findLinks(owner: Owner, payoutId: string): Promise<LinkRecord<AccountChain>[]> {
  const { session, accountId } = owner;
  const name = { accountId, payoutId };
  const ledger = await addJournals(owner, await listPayoutLedgerLinks(session, name));
  const keptSince = await findKeptSince(session);
  const events = new Map<string, LinkRecord<AccountChain>>();
  for (const { sequence } of await listPayoutEvents(session, name)) {
    const link = await findLinkOfEvent(session, accountId, sequence);
    if (link === undefined || events.has(link.place)) continue;
    const [record] = await addEvents(owner, [link], { keptSince });
    if (record !== undefined) events.set(link.place, record);
  }
  return [...ledger, ...events.values()];
}

/** Of the link before: the last one of a page that ends there. */
async function findPrevious(owner: Owner, link: LinkRecord<AccountChain>): Promise<string> {
  const { session, accountId } = owner;
  const count = link.chain === 'ledger' ? 1n : BigInt(link.row_count);
  const before = BigInt(link.place) - count;
  if (before === 0n) return '';
  const range = { accountId, after: String(before - 1n), count: 1 };
  const list = link.chain === 'ledger' ? listLedgerLinks : listEventLinks;
  const [previous] = await list(session, range);
  return previous?.hash ?? '';
}

const pathPage = 1000;

async function readPath(
  { session, accountId }: Owner,
  link: LinkRecord<AccountChain>,
  signedPlace: string,
): Promise<ProvedLink['path']> {
  const list = link.chain === 'ledger' ? listLedgerLinks : listEventLinks;
  const path: ProvedLink['path'] = [];
  for (let after = link.place; BigInt(after) < BigInt(signedPlace); ) {
    const page = await list(session, { accountId, after, count: pathPage });
    if (page.length === 0) break;
    for (const { place, created_us, row_count, digest } of page) {
      if (BigInt(place) <= BigInt(signedPlace)) {
        path.push({ place, created_us, row_count, digest });
      }
      after = place;
    }
  }
  return path;
}

/** What a proof shows. */
export type Proved = {
  environment: string;
  account_id: string;
  payout_id: string;
  /**
   * When the earliest of its heads was signed. The proof shows what was recorded until then: one that was made
   * before a refund lacks the refund.
   */
  signed_at: string;
  journals: JournalRow[];
  events: EventRow[];
};

/**
 * Verifies a proof without the service.
 *
 * @param publicKeys of the environment: a key set, or PEM
 * @returns the rows that are proved
 * @throws Error that says what does not hold.
 */
export function verifyPayoutProof(proof: PayoutProof, publicKeys: string): Proved {
  const keys = readPublicKeys(publicKeys);
  const { account_id, payout_id } = proof;
  const statements = proof.links.map((link) => verifyLink(proof, link, keys));
  const [earliest, ...others] = statements.toSorted(
    (a, b) => Date.parse(a.signed_at) - Date.parse(b.signed_at),
  );
  if (earliest === undefined) throw new Error('the proof has no links');
  const { environment, signed_at } = earliest;
  if (others.some((other) => other.environment !== environment)) {
    throw new Error('the checkpoints are of different environments');
  }
  const places = proof.links.map(({ chain, place }) => `link ${place} of the ${chain}`);
  const repeated = places.find((place, index) => places.indexOf(place) !== index);
  if (repeated !== undefined) throw new Error(`${repeated} is there twice`);
  const journals: JournalRow[] = [];
  const events: EventRow[] = [];
  for (const { row } of proof.links.flatMap(({ rows }): ProvedRow[] => rows)) {
    if (row === undefined) continue;
    if ('sequence' in row) events.push(row);
    else journals.push(row);
  }
  return { environment, account_id, payout_id, signed_at, journals, events };
}

type ProvedRow = { row_hash: string; row?: JournalRow | EventRow | undefined };

/** @returns what was signed, to which the link leads */
function verifyLink(
  { account_id, payout_id }: PayoutProof,
  link: ProvedLink,
  keys: readonly PublicKey[],
): CheckpointStatement {
  const at = `link ${link.place} of the ${link.chain}`;
  for (const { row, row_hash: expected } of link.rows) {
    if (row === undefined) continue;
    if (hashRow(row).toString('hex') !== expected) throw new Error(`${at}: a row was changed`);
    if (!isAbout(row, payout_id)) throw new Error(`${at}: a row is of another payout`);
  }
  if (!isSigned(link.checkpoint, keys)) throw new Error(`${at}: its checkpoint is not signed`);
  const statement = readStatement(link.checkpoint);
  const head = statement[link.chain];
  const digest = digestRows(link.rows.map(({ row_hash: hash }) => Buffer.from(hash, 'hex')));
  const { created_us } = link;
  const own = { account_id, place: link.place, created_us, row_count: link.rows.length, digest };
  let hash = hashLink(link.previous, own);
  let { place } = link;
  for (const next of link.path) {
    hash = hashLink(hash, { account_id, ...next });
    ({ place } = next);
  }
  const isHead = statement.account_id === account_id && head.place === place;
  if (!isHead || head.hash !== hash) throw new Error(`${at}: it does not lead to its checkpoint`);
  return statement;
}
