import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { z } from 'zod';

/**
 * The bank's verification of payee: JSON over HTTP with the result codes of the EPC's scheme.
 *
 *     node payee-simulator.ts --folder X --token T
 *
 * `X/bank/payees.json` holds accounts and behavior, and is read again for every request. The program
 * prints its port.
 */

const payeesSchema = z.strictObject({
  /** The holder by IBAN; of other accounts nothing is known. */
  holders: z.record(z.string(), z.string()).default({}),
  /** `silent`: no answer. `down`: 503. `garbled`: no JSON. `endless`: more than anyone reads. */
  mode: z.enum(['answer', 'silent', 'down', 'garbled', 'endless']).default('answer'),
});
export type Payees = z.input<typeof payeesSchema>;

const requestSchema = z.strictObject({
  iban: z.string().regex(/^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/),
  name: z.string().min(1).max(140),
});

export type PayeeSimulator = {
  readonly url: string;
  /** How many requests it has had. */
  readonly count: () => number;
  close(): Promise<void>;
};

export async function setPayees(folder: string, payees: Payees): Promise<void> {
  await mkdir(join(folder, 'bank'), { recursive: true });
  await writeFile(join(folder, 'bank', 'payees.json'), JSON.stringify(payees));
}

export async function startPayeeSimulator(options: {
  folder: string;
  token: string;
}): Promise<PayeeSimulator> {
  const { folder, token } = options;
  let count = 0;
  const server = createServer((request, response) => {
    count += 1;
    answer(request, response, { folder, token }).catch(() => {
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/payees`,
    count: () => count,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { folder, token }: { folder: string; token: string },
): Promise<void> {
  const body = await text(request);
  const stored = await readFile(join(folder, 'bank', 'payees.json'), 'utf8');
  const { holders, mode } = payeesSchema.parse(JSON.parse(stored));
  const refuse = (status: number): void => {
    response.writeHead(status).end();
  };
  if (mode === 'silent') return;
  if (mode === 'down') return refuse(503);
  if (mode === 'garbled') return void response.end('<html>');
  if (mode === 'endless') return void response.end(' '.repeat(1_000_000));
  if (request.headers.authorization !== `Bearer ${token}`) return refuse(401);
  if (request.method !== 'POST') return refuse(405);
  const asked = requestSchema.safeParse(JSON.parse(body));
  if (!asked.success) return refuse(400);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify(compare(asked.data.name, holders[asked.data.iban])));
}

function compare(name: string, holder: string | undefined): Record<string, string> {
  if (holder === undefined) return { result: 'NOAP' };
  const [given, own] = [readWords(name), readWords(holder)];
  if (given.join(' ') === own.join(' ')) return { result: 'MTCH' };
  // Half of the words agree, as with a shortened or misspelt first name.
  const common = given.filter((word) => own.includes(word)).length;
  if (2 * common >= Math.max(given.length, own.length)) return { result: 'CMTC', name: holder };
  return { result: 'NMTC' };
}

function readWords(name: string): string[] {
  const plain = name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return (plain.match(/[a-z0-9]+/g) ?? []).toSorted();
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { folder: { type: 'string' }, token: { type: 'string' } },
  });
  const { folder, token } = values;
  if (folder === undefined || token === undefined) {
    throw new Error('--folder and --token are required');
  }
  const simulator = await startPayeeSimulator({ folder, token });
  process.once('SIGTERM', () => process.exit(0));
  process.stdout.write(`${simulator.url}\n`);
}
