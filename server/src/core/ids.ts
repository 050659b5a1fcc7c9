import { createHash, randomBytes, randomFillSync } from 'node:crypto';
import { v5, v7, validate } from 'uuid';

/** A time-ordered UUID (version 7): its order keeps every index warm, and tells who came first. */
export function newId(): string {
  // Not the steady clock: it rests while a machine is suspended, and keeps the error of a wrong start.
  // oxlint-disable-next-line outlay/no-current-time
  const now = Date.now();
  if (now > last.msecs) {
    last.msecs = now;
    // Its upper half is left for those that follow within the same millisecond.
    last.seq = takeRandom(4).readUInt32BE() >>> 1;
  } else {
    // By a random step, so that two ids of the same millisecond do not reveal how many lie between.
    last.seq += 1 + takeRandom(2).readUInt16BE();
    if (last.seq > seqMax) {
      last.msecs += 1;
      last.seq = 0;
    }
  }
  return v7({ random: takeRandom(16), ...last });
}

/**
 * As `newId`, and later than an id that another process may have made, whose clock may be ahead: for rows
 * of which the newest counts.
 */
export function newIdAfter(earlier: string | undefined): string {
  const id = newId();
  if (earlier === undefined || id > earlier) return id;
  const msecs = Number.parseInt(earlier.slice(0, 8) + earlier.slice(9, 13), 16) + 1;
  // The ids that follow stay at this machine's time.
  return v7({ random: takeRandom(16), msecs });
}

const last = { msecs: 0, seq: 0 };
const seqMax = 0xffff_ffff;

/** Random bytes by the page: asking the system for sixteen costs ten times the rest of an id. */
const page = Buffer.alloc(4096);
let taken = page.length;

function takeRandom(count: number): Buffer {
  if (taken + count > page.length) {
    randomFillSync(page);
    taken = 0;
  }
  taken += count;
  return page.subarray(taken - count, taken);
}

/** 120 random bits as hexadecimal text. */
export function newRandomText(): string {
  return takeRandom(15).toString('hex');
}

/** A UUID that is a function of a name (version 5): the same forever, on every machine. */
export function nameId(name: string, namespace: string): string {
  return v5(name, namespace);
}

/**
 * Only in lower case, as identifiers are written: another spelling is the same to the database, and
 * another text to seals, codes of authenticity and rules.
 */
export function isUuid(text: string): boolean {
  return validate(text) && text === text.toLowerCase();
}

const prefixes = {
  user: 'usr_',
  attribute: 'attr_',
  attributeSet: 'attr_set_',
  payout: 'payout_',
  batch: 'batch_',
  webhook: 'webhook_',
  delivery: 'delivery_',
  proposal: 'proposal_',
  link: 'link_',
} as const;
export type TokenKind = keyof typeof prefixes;

export function formatToken(kind: TokenKind, id: string): string {
  return prefixes[kind] + id;
}

/** The UUID inside a token, or undefined when the text is no token of that kind: then nothing has it. */
export function findTokenId(kind: TokenKind, token: string): string | undefined {
  const prefix = prefixes[kind];
  if (!token.startsWith(prefix)) return undefined;
  const id = token.slice(prefix.length);
  return isUuid(id) ? id : undefined;
}

/** 256 random bits as URL-safe text. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
