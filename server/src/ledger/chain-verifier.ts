import { isDeepStrictEqual } from 'node:util';
import { findPreviousSequence } from '../core/restored-account.ts';
import type { PublicKey } from '../core/verifying-keys.ts';
import {
  type ChainName,
  type ChainRow,
  type Checkpoint,
  chains,
  digestRows,
  type EventRow,
  hashLink,
  hashRow,
  isSigned,
  type LinkRecord,
  readStatement,
} from './chain.ts';

/** Verifies chains, link by link, against their rows and the signed checkpoints. */

const chainFaults = {
  rows_changed: 'rows of the link were changed or exchanged',
  rows_missing: 'rows of the link are missing',
  rows_added: 'rows were added to the link',
  not_linked: 'a row is covered by no link: it was inserted past the service',
  not_vouched: 'the entry was written or changed past the service',
  link_missing: 'links are missing before this one',
  link_changed: 'the link was changed',
  checkpoint_differs: 'the chain was written anew: it is not the one that was signed',
  end_missing: 'the end of the chain is missing',
  not_signed: 'no checkpoint covers these links',
  checkpoint_forged: 'the signature of the checkpoint is by none of the keys',
} as const;

export type ChainFinding = {
  account_id: string;
  chain: ChainName;
  place: string;
  code: keyof typeof chainFaults;
  detail: string;
};

export type ChainProof = {
  links: number;
  rows: number;
  /** Links whose rows are no longer kept. */
  without_rows: number;
  checkpoints: number;
  /** When the newest of them was signed; "" without one. */
  signed_at: string;
  /** The first hundred. */
  findings: ChainFinding[];
};

const findingsMax = 100;

export type ChainVerifier = {
  /** Links of a chain come in the order of their places, one chain after the other. */
  add(link: LinkRecord): void;
  report(finding: Omit<ChainFinding, 'detail'> & { detail?: string }): void;
  finish(): ChainProof;
};

/** @param trusted checkpoints of any age, of which one may be given several times; and the keys */
export function createChainVerifier(trusted?: {
  checkpoints: readonly Checkpoint[];
  keys: readonly PublicKey[];
  /** Every chain ends with a signed head: anyone can continue one. */
  isSignedToTheEnd?: boolean;
}): ChainVerifier {
  const counts = { links: 0, rows: 0, without_rows: 0, checkpoints: 0 };
  const proof: ChainProof = { ...counts, signed_at: '', findings: [] };
  const report: ChainVerifier['report'] = ({ detail, ...finding }) => {
    if (proof.findings.length >= findingsMax) return;
    const text = chainFaults[finding.code];
    const found = { ...finding, detail: detail === undefined ? text : `${text} (${detail})` };
    // A checkpoint is in the database and in the file.
    if (!proof.findings.some((other) => isDeepStrictEqual(other, found)))
      proof.findings.push(found);
  };
  const { isSignedToTheEnd = false } = trusted ?? {};
  const signed =
    trusted === undefined ? new Map<string, string>() : readHeads(proof, trusted, report);
  const seen = { name: '', place: '0', hash: '', areRowsKept: false, unsigned: '' };
  const endChain = (): void => {
    const [accountId = '', chain] = seen.name.split(' ');
    const at = { account_id: accountId, chain: chain as ChainName, place: seen.unsigned };
    if (isSignedToTheEnd && seen.unsigned !== '') report({ ...at, code: 'not_signed' });
  };
  return {
    add: (link) => {
      const { account_id, chain, place } = link;
      const at = { account_id, chain, place };
      proof.links += 1;
      const name = `${account_id} ${chain}`;
      if (name !== seen.name) {
        endChain();
        Object.assign(seen, { name, place: '0', hash: '', areRowsKept: false, unsigned: '' });
      }
      const first = findFirst(link);
      if (!follows({ ...link, first }, seen.place)) {
        report({ ...at, code: 'link_missing', detail: `${seen.place} comes before ${place}` });
      } else if (hashLink(seen.hash, link) !== link.hash) {
        report({ ...at, code: 'link_changed' });
      }
      // Whole months of events are dropped, the oldest first.
      const fault =
        link.rows === null && seen.areRowsKept ? 'rows_missing' : findRowFault(link, first);
      const areRowsKept = seen.areRowsKept || link.rows !== null;
      Object.assign(seen, { place, hash: link.hash, areRowsKept });
      if (fault !== undefined) report({ ...at, code: fault });
      proof.rows += link.rows?.length ?? 0;
      if (link.rows === null) proof.without_rows += 1;
      const signedHash = signed.get(`${name} ${place}`);
      if (signedHash !== undefined && signedHash !== link.hash) {
        report({ ...at, code: 'checkpoint_differs' });
      }
      if (signedHash !== undefined) seen.unsigned = '';
      else if (seen.unsigned === '') seen.unsigned = place;
      signed.delete(`${name} ${place}`);
    },
    report,
    finish: () => {
      endChain();
      for (const unseen of signed.keys()) {
        const [accountId = '', chain, place = ''] = unseen.split(' ');
        const at = { account_id: accountId, chain: chain as ChainName, place };
        report({ ...at, code: 'end_missing', detail: 'it was longer when it was signed' });
      }
      return proof;
    },
  };
}

/** Whether no link is missing between the one with this place and the link. */
function follows(
  { chain, first, rows }: Pick<LinkRecord, 'chain' | 'rows'> & { first: bigint },
  previous: string,
): boolean {
  const expected = BigInt(previous) + 1n;
  if (first === expected) return true;
  if (chain !== 'events' || first < expected) return false;
  // After a restore an account skips numbers; the hash is over the link before them all the same.
  if (rows === null) return true;
  const [row] = rows;
  return row !== undefined && 'type' in row && isAfter(row, BigInt(previous));
}

function isAfter({ sequence, type, payload = null }: EventRow, previous: bigint): boolean {
  try {
    return findPreviousSequence({ sequence: BigInt(sequence), type, payload }) === previous;
  } catch {
    return false;
  }
}

/** Of checkpoints that are signed: the hash of each account, chain and place. */
function readHeads(
  proof: ChainProof,
  { checkpoints, keys }: { checkpoints: readonly Checkpoint[]; keys: readonly PublicKey[] },
  report: ChainVerifier['report'],
): Map<string, string> {
  const signed = new Map<string, string>();
  for (const checkpoint of checkpoints) {
    const { account_id, signed_at, ...heads } = readStatement(checkpoint);
    proof.checkpoints += 1;
    if (signed_at > proof.signed_at) proof.signed_at = signed_at;
    for (const chain of chains) {
      const { place, hash } = heads[chain] ?? { place: '0', hash: '' };
      if (place === '0') continue;
      const at = { account_id, chain, place };
      const name = `${account_id} ${chain} ${place}`;
      if (!isSigned(checkpoint, keys)) report({ ...at, code: 'checkpoint_forged' });
      else if ((signed.get(name) ?? hash) === hash) signed.set(name, hash);
      else report({ ...at, code: 'checkpoint_differs', detail: 'two heads were signed for it' });
    }
  }
  return signed;
}

/** The number of the link, or the sequence of its first row. */
export function findFirst({
  chain,
  place,
  row_count: count,
}: Pick<LinkRecord, 'chain' | 'place' | 'row_count'>): bigint {
  return chain === 'ledger' ? BigInt(place) : BigInt(place) - BigInt(count) + 1n;
}

function findRowFault({ rows, row_count: count, digest }: LinkRecord, first: bigint) {
  if (rows === null) return undefined;
  if (rows.length < count) return 'rows_missing';
  if (rows.length > count) return 'rows_added';
  const areNumbered = rows.every((row, index) => isNumbered(row, first + BigInt(index)));
  if (!areNumbered) return 'rows_changed';
  return digestRows(rows.map(hashRow)) === digest ? undefined : 'rows_changed';
}

/** Events and entries of the audit log have each sequence once. */
function isNumbered(row: ChainRow, sequence: bigint): boolean {
  if ('sequence' in row) return BigInt(row.sequence) === sequence;
  return !('audit_sequence' in row) || BigInt(row.audit_sequence) === sequence;
}
