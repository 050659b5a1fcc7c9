import { createHash } from 'node:crypto';
import { z } from 'zod';
import { findSigner, type PublicKey } from '../core/verifying-keys.ts';

/**
 * The chains of hashes over journals, events and the audit log (`db/schema/chain.sql`), computed outside
 * the database: anyone with an export and the public key can verify them without trusting the service.
 */

export const accountChains = ['ledger', 'events'] as const;
/** Each account has the first two; the audit log is one of the environment. */
export const chains = [...accountChains, 'audit'] as const;
export type AccountChain = (typeof accountChains)[number];
export type ChainName = (typeof chains)[number];

/** In place of an account, in the links of the audit log. */
export const nilAccount = '00000000-0000-0000-0000-000000000000';

const number = z.string().regex(/^-?\d{1,19}$/, 'must be a decimal number as text');
const sha256Hex = z.string().regex(/^[\da-f]{64}$/, 'must be a SHA-256 in hexadecimal');
const count = z.int().min(0);

/**
 * Amounts in minor units and times in microseconds since 1970, as decimal text. Null and absent are the
 * same. What a row has beside these members is not hashed, and so not read.
 */
const journalRow = z.object({
  id: z.guid(),
  kind: z.string(),
  payout_id: z.guid().nullish(),
  batch_id: z.guid().nullish(),
  source_currency: z.string(),
  source_amount: number,
  fee: number,
  destination_currency: z.string().nullish(),
  destination_amount: number.nullish(),
  rail: z.string().nullish(),
  wallet_balance: number.nullish(),
  created_us: number,
});
export type JournalRow = z.output<typeof journalRow>;

const eventRow = z.object({
  sequence: number,
  type: z.string(),
  subject_id: z.guid(),
  payload: z.string().nullish(),
  detail: z.string(),
  created_us: number,
});
export type EventRow = z.output<typeof eventRow>;

const auditRow = z.object({
  audit_sequence: number,
  id: z.guid(),
  actor_id: z.guid().nullish(),
  account_id: z.guid().nullish(),
  texts: z.array(z.string()).describe('Of the entry, in the order in which they are hashed'),
  created_us: number,
});

/** The rows that each chain covers. */
export const chainRows = { ledger: journalRow, events: eventRow, audit: auditRow } as const;
type RowOf = { [Name in ChainName]: z.output<(typeof chainRows)[Name]> };
export type ChainRow = RowOf[ChainName];

/** `place`: the number of the link, or the sequence of its last event or entry. */
export const linkColumns = {
  place: number,
  created_us: number,
  row_count: count,
  digest: sha256Hex,
} as const;
export const rowHash = sha256Hex;
/** "" where there is no link. */
export const linkHash = z.union([z.literal(''), sha256Hex]);

/** A link with the rows that it covers; hashes in hexadecimal. */
export type Link<Name extends ChainName = ChainName> = {
  account_id: string;
  chain: Name;
  place: string;
  /** Of its latest row. */
  created_us: string;
  row_count: number;
  digest: string;
  hash: string;
};
export type LinkRecord<Name extends ChainName = ChainName> = Link<Name> & {
  /** Null where they are no longer kept. */
  rows: readonly RowOf[Name][] | null;
};

const recordOf = <Name extends ChainName>(chain: Name) =>
  z.object({
    account_id: z.guid(),
    chain: z.literal(chain),
    ...linkColumns,
    hash: sha256Hex,
    rows: z.array(chainRows[chain]).nullable(),
  });
export const linkRecordSchema = z.discriminatedUnion('chain', [
  recordOf('ledger'),
  recordOf('events'),
  recordOf('audit'),
]);

/** The signed heads of an account's chains, or of the audit log. */
export const checkpointSchema = z.object({
  /** What is signed: JSON of a `CheckpointStatement`. */
  statement: z.string(),
  signature: z.string().describe('Base64'),
  key_id: z.string(),
});
export type Checkpoint = z.output<typeof checkpointSchema>;

const head = z.object({ place: number, hash: linkHash });
const statementSchema = z.object({
  environment: z.string(),
  account_id: z.guid(),
  signed_at: z.string().describe('RFC 3339, real time'),
  ledger: head,
  events: head,
  audit: head.optional(),
});
export type CheckpointStatement = z.output<typeof statementSchema>;

/** @throws ChainFileError */
export function readStatement({ statement }: Checkpoint): CheckpointStatement {
  return parseChainJson(statement, statementSchema, 'the statement of a checkpoint');
}

/** A file of chains, checkpoints or proofs has another form; the message says where. */
export class ChainFileError extends Error {}

/** @throws ChainFileError */
export function parseChainJson<Value>(
  text: string,
  schema: z.ZodType<Value>,
  subject: string,
): Value {
  let written: unknown;
  try {
    written = JSON.parse(text);
  } catch (cause) {
    throw new ChainFileError(`${subject} must be JSON`, { cause });
  }
  const parsed = schema.safeParse(written);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place =
    issue === undefined ? '' : ` at ${issue.path.join('.') || 'its root'}: ${issue.message}`;
  throw new ChainFileError(`${subject} has an unexpected form${place}`, { cause: parsed.error });
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

/** Microseconds since 2000. */
const timeBytes = (us: string): Buffer => number8(BigInt(us) - microsecondsTo2000);

export function hashRow(row: ChainRow): Buffer {
  const at = timeBytes(row.created_us);
  if ('sequence' in row) {
    const { sequence, type, detail, payload } = row;
    return sha256(
      number8(sequence),
      at,
      uuidBytes(row.subject_id),
      number4(payload === null || payload === undefined ? -1 : Buffer.byteLength(payload)),
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
  link: Pick<Link, 'account_id' | 'place' | 'created_us' | 'row_count' | 'digest'>,
): string {
  return sha256(
    Buffer.from(previous, 'hex'),
    uuidBytes(link.account_id),
    number8(link.place),
    timeBytes(link.created_us),
    number4(link.row_count),
    Buffer.from(link.digest, 'hex'),
  ).toString('hex');
}

/** How long after a rotation a process may sign with the key before, and how far clocks may differ. */
const formerKeyMs = 600_000;

/** A former key counts for what was signed in its time. */
export function isSigned(checkpoint: Checkpoint, keys: readonly PublicKey[]): boolean {
  const { statement, signature } = checkpoint;
  const signer = findSigner(keys, Buffer.from(statement), Buffer.from(signature, 'base64'));
  if (signer?.untilMs === undefined) return signer !== undefined;
  return Date.parse(readStatement(checkpoint).signed_at) < signer.untilMs + formerKeyMs;
}
