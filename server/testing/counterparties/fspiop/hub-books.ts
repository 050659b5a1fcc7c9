import { createHash, generateKeyPairSync } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

/** The simulated hub's durable records, which tests compare with the payments. */

export type TransferState = 'RESERVED' | 'COMMITTED' | 'ABORTED';

export type BookedTransfer = {
  readonly transferId: string;
  /** The payer's reference, from the extension list; "" where it has none. */
  readonly reference: string;
  readonly currency: string;
  readonly amount: string;
  readonly payer: string;
  readonly ilpPacket: string;
  /** Of the body, to tell a repeated request from another transfer with the same identifier. */
  readonly hash: string;
  readonly state: TransferState;
  /** The error code of an aborted transfer. */
  readonly code: string;
};

export type HubBooks = {
  find(transferId: string): BookedTransfer | undefined;
  list(): readonly BookedTransfer[];
  /** On the disk when it returns. */
  write(transfer: BookedTransfer): void;
  close(): void;
};

/** One line for each change; the last one of an identifier counts. */
export function openHubBooks(folder: string): HubBooks {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, 'transfers.jsonl');
  const transfers = new Map<string, BookedTransfer>();
  if (existsSync(path)) {
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      const transfer = readLine(line);
      if (transfer !== undefined) transfers.set(transfer.transferId, transfer);
    }
  }
  const file = openSync(path, 'a');
  // Ends a line that a crash truncated; it is not read.
  writeSync(file, '\n');
  return {
    find: (transferId) => transfers.get(transferId),
    list: () => [...transfers.values()],
    write: (transfer) => {
      writeSync(file, `${JSON.stringify(transfer)}\n`);
      fsyncSync(file);
      transfers.set(transfer.transferId, transfer);
    },
    close: () => closeSync(file),
  };
}

function readLine(line: string): BookedTransfer | undefined {
  try {
    return JSON.parse(line) as BookedTransfer;
  } catch {
    return undefined;
  }
}

export function hashBody(body: string): string {
  return createHash('sha256').update(body).digest('hex');
}

export const participants = ['payer', 'hub', 'payee'] as const;
export type Participant = (typeof participants)[number];
export type KeyFiles = Readonly<Record<Participant, { privatePem: string; publicPem: string }>>;

/** Key pairs of all participants, made once: `<participant>.private.pem`, `.public.pem`. */
export function openKeyFiles(folder: string): KeyFiles {
  mkdirSync(folder, { recursive: true });
  return {
    payer: openPair(folder, 'payer'),
    hub: openPair(folder, 'hub'),
    payee: openPair(folder, 'payee'),
  };
}

type Pair = KeyFiles[Participant];

/** Making one takes longer than all else, so that all simulators of a process have the same. */
const made = new Map<Participant, Pair>();

function makePair(name: Participant): Pair {
  const known = made.get(name);
  if (known !== undefined) return known;
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const pair = { privatePem: privateKey, publicPem: publicKey };
  made.set(name, pair);
  return pair;
}

function openPair(folder: string, name: Participant): Pair {
  const privatePath = join(folder, `${name}.private.pem`);
  const publicPath = join(folder, `${name}.public.pem`);
  if (!existsSync(publicPath)) {
    const { privatePem, publicPem } = makePair(name);
    writeFileSync(privatePath, privatePem, { mode: 0o600 });
    writeFileSync(publicPath, publicPem);
  }
  return {
    privatePem: readFileSync(privatePath, 'utf8'),
    publicPem: readFileSync(publicPath, 'utf8'),
  };
}
