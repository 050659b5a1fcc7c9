import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';

/**
 * The chain of hashes over journals and events (`db/schema/chain.sql`), computed outside the database:
 * whoever has an export and the public key can verify it without trusting either.
 */

export const accountChains = ['ledger', 'events'] as const;
/** Each account has the first two; the audit log is one of the environment. */
export const chains = [...accountChains, 'audit'] as const;
export type AccountChain = (typeof accountChains)[number];
export type ChainName = (typeof chains)[number];

/** In place of an account, in the links of the audit log. */
export const nilAccount = '00000000-0000-0000-0000-000000000000';

/**
 * Amounts in minor units and times in microseconds since 1970, as decimal text. Null and absent are the
 * same.
 */
export type JournalRow = {
  id: string;
  kind: string;
  payout_id?: string | null;
  batch_id?: string | null;
  source_currency: string;
  source_amount: string;
  fee: string;
  destination_currency?: string | null;
  destination_amount?: string | null;
  rail?: string | null;
  wallet_balance?: string | null;
  created_us: string;
};

export type EventRow = {
  sequence: string;
  type: string;
  subject_id: string;
  payload?: string | null;
  detail: string;
  created_us: string;
};

export type AuditRow = {
  audit_sequence: string;
  id: string;
  actor_id?: string | null;
  account_id?: string | null;
  /** The texts of the entry, in the order in which they are hashed. */
  texts: readonly string[];
  created_us: string;
};

type RowOf = { ledger: JournalRow; events: EventRow; audit: AuditRow };
export type ChainRow = RowOf[ChainName];

/** A link with the rows that it covers; hashes in hexadecimal. */
export type Link<Name extends ChainName = ChainName> = {
  account_id: string;
  chain: Name;
  /** The number of the link, or the sequence of its last event or entry. */
  place: string;
  row_count: number;
  digest: string;
  hash: string;
  created_us: string;
};
export type LinkRecord<Name extends ChainName = ChainName> = Link<Name> & {
  /** Null where they are not kept any more. */
  rows: readonly RowOf[Name][] | null;
};

/** The signed heads of an account's chains, or of the audit log. */
export type Checkpoint = {
  /** What is signed: JSON of a `CheckpointStatement`. */
  statement: string;
  /** Base64. */
  signature: string;
  key_id: string;
};

export type CheckpointStatement = {
  environment: string;
  account_id: string;
  /** RFC 3339, real time. */
  signed_at: string;
  ledger: { place: string; hash: string };
  events: { place: string; hash: string };
  audit?: { place: string; hash: string };
};

export function readStatement({ statement }: Checkpoint): CheckpointStatement {
  return JSON.parse(statement) as CheckpointStatement;
}

const microsecondsTo2000 = 946_684_800_000_000n;

function number8(value: string | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

function number4(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function uuidBytes(id: string | null = null): Buffer {
  return id === null ? Buffer.alloc(16) : Buffer.from(id.replaceAll('-', ''), 'hex');
}

function textBytes(...parts: readonly (string | null | undefined)[]): Buffer {
  const present = parts.filter((part) => part !== null && part !== undefined);
  return Buffer.from(present.join('|'), 'utf8');
}

/** Each text with the number of its bytes before it. */
function prefixedTexts(texts: readonly string[]): Buffer {
  return Buffer.concat(
    texts.flatMap((text) => {
      const bytes = Buffer.from(text, 'utf8');
      return [number4(bytes.length), bytes];
    }),
  );
}

function sha256(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

export function hashRow(row: ChainRow): Buffer {
  const at = number8(BigInt(row.created_us) - microsecondsTo2000);
  if ('sequence' in row) {
    const { sequence, type, detail, payload } = row;
    return sha256(
      number8(sequence),
      at,
      uuidBytes(row.subject_id),
      textBytes(type, detail, payload),
    );
  }
  if ('audit_sequence' in row) {
    return sha256(
      number8(row.audit_sequence),
      at,
      uuidBytes(row.id),
      uuidBytes(row.actor_id),
      uuidBytes(row.account_id),
      prefixedTexts(row.texts),
    );
  }
  return sha256(
    uuidBytes(row.id),
    number8(row.source_amount),
    number8(row.fee),
    number8(row.destination_amount ?? '0'),
    number8(row.wallet_balance ?? '0'),
    at,
    uuidBytes(row.payout_id),
    uuidBytes(row.batch_id),
    textBytes(row.kind, row.source_currency, row.destination_currency, row.rail),
  );
}

/** @param rowHashes in the order of the rows */
export function digestRows(rowHashes: readonly Uint8Array[]): string {
  return sha256(...rowHashes).toString('hex');
}

/** @param previous the hash of the link before it; "" for the first one */
export function hashLink(
  previous: string,
  link: Pick<Link, 'account_id' | 'place' | 'row_count' | 'digest'>,
): string {
  return sha256(
    Buffer.from(previous, 'hex'),
    uuidBytes(link.account_id),
    number8(link.place),
    number4(link.row_count),
    Buffer.from(link.digest, 'hex'),
  ).toString('hex');
}

/** @throws Error unless it is the PEM of an Ed25519 public key. */
export function readPublicKey(pem: string): KeyObject {
  const key = createPublicKey(pem);
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('the key must be an Ed25519 public key');
  return key;
}

export function isSigned({ statement, signature }: Checkpoint, key: KeyObject): boolean {
  return verify(null, Buffer.from(statement), key, Buffer.from(signature, 'base64'));
}
