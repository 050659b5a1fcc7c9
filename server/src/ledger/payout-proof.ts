import { z } from 'zod';
import { readPublicKeys } from '../core/verifying-keys.ts';
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
  parseChainJson,
  readStatement,
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
    previous: z.string().describe('The hash of the link before it; "" for the first one'),
    rows: z.array(z.object({ row_hash: z.string(), row: chainRows[chain].optional() })),
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
    for (const { place, row_count, digest } of page) {
      if (BigInt(place) <= BigInt(signedPlace)) path.push({ place, row_count, digest });
      after = place;
    }
  }
  return path;
}

/**
 * Verifies a proof without the service.
 *
 * @param publicKeys of the environment: a key set, or PEM
 * @returns the rows that are proved
 * @throws Error that says what does not hold.
 */
export function verifyPayoutProof(
  proof: PayoutProof,
  publicKeys: string,
): { journals: JournalRow[]; events: EventRow[] } {
  const keys = readPublicKeys(publicKeys);
  const journals: JournalRow[] = [];
  const events: EventRow[] = [];
  for (const link of proof.links) {
    const at = `link ${link.place} of the ${link.chain}`;
    for (const { row, row_hash: expected } of link.rows) {
      if (row === undefined) continue;
      if (hashRow(row).toString('hex') !== expected) throw new Error(`${at}: a row was changed`);
      if (!isAbout(row, proof.payout_id)) throw new Error(`${at}: a row is of another payout`);
      if ('sequence' in row) events.push(row);
      else journals.push(row);
    }
    if (!isSigned(link.checkpoint, keys)) throw new Error(`${at}: its checkpoint is not signed`);
    const statement = readStatement(link.checkpoint);
    const head = statement[link.chain];
    const account = { account_id: proof.account_id };
    const digest = digestRows(link.rows.map(({ row_hash: hash }) => Buffer.from(hash, 'hex')));
    const own = { ...account, place: link.place, row_count: link.rows.length, digest };
    let hash = hashLink(link.previous, own);
    let { place } = link;
    for (const next of link.path) {
      hash = hashLink(hash, { ...account, ...next });
      ({ place } = next);
    }
    const isHead = statement.account_id === proof.account_id && head.place === place;
    if (!isHead || head.hash !== hash) throw new Error(`${at}: it does not lead to its checkpoint`);
  }
  return { journals, events };
}
