import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { upload } from './batch-kit.ts';
import {
  commitPayout,
  createPayout,
  createUser,
  deliveryCases,
  fillAttributes,
  findPayer,
  type Recipient,
  readAttributes,
} from './recipients.ts';
import type { Account, Api, Headers } from './service.ts';
import { assertProblem } from './shapes.ts';

/** Uploads that announce a large body and hardly send any of it, and ones that a service still takes. */

export type Line = { path: string; token?: string; contentType?: string; host?: string };

export type Idle = {
  socket: Socket;
  /** All bytes from the service. */
  received: () => string;
  closed: Promise<void>;
};

/** Announces 30 MB of a body and sends one byte of it. */
export async function openIdle(
  baseUrl: string,
  { path, token, contentType, host }: Line,
): Promise<Idle> {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect({ host: hostname, port: Number(port) });
  let text = '';
  socket.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: ${host ?? hostname}`,
    `Content-Type: ${contentType ?? 'application/json'}`,
    'Content-Length: 30000000',
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n[`);
  return { socket, received: () => text, closed };
}

/** For as long as a service may take for it on a busy machine; what follows asserts it. */
export async function waitUntil(holds: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + 60_000;
  while (!(await holds()) && performance.now() < endMs) await sleep(10);
}

/** Opens so many, of which at least `refused` are answered at once: the others hold their slots then. */
export async function openMany(
  baseUrl: string,
  { count, line, refused = 1 }: { count: number; line: Line; refused?: number },
): Promise<AsyncDisposable & { idles: Idle[] }> {
  const idles = await Promise.all(Array.from({ length: count }, () => openIdle(baseUrl, line)));
  await waitUntil(async () => idles.filter(isAnswered).length >= refused);
  return {
    idles,
    [Symbol.asyncDispose]: async () => {
      for (const { socket } of idles) socket.destroy();
      await Promise.all(idles.map(({ closed }) => closed));
    },
  };
}

export const isAnswered = ({ received }: Idle): boolean => received() !== '';

export const csv =
  'client_transfer_id,destination_token,destination_currency_code,source_amount,user_token\r\n,,,,';

export async function assertTakesBatch(api: Api, headers: Headers = {}): Promise<void> {
  const sent = { 'content-type': 'text/csv', ...(headers as Record<string, string>) };
  const reply = await upload(api, csv, sent);
  assert.equal(reply.status, 200, reply.text);
}

/** A body that is read and refused shows that the upload was admitted. */
export async function assertTakesImages(api: Api): Promise<void> {
  const userToken = await createUser(api);
  assertProblem(await api.post(`/user/${userToken}/kyc/id`, []), 400);
}

export async function readLink({ api }: Account): Promise<{ link: string; userToken: string }> {
  const userToken = await createUser(api);
  const payer = await findPayer(api, deliveryCases.cash, 'amount=1500');
  const attrSetToken = await fillAttributes(api, {
    userToken,
    payer,
    delivery: deliveryCases.cash,
  });
  const recipient: Recipient = { userToken, payer, delivery: deliveryCases.cash, attrSetToken };
  const payout = await createPayout(api, recipient, { source_amount: 1500 });
  await commitPayout(api, recipient, payout['payout_token']);
  const attributes = await readAttributes(api, {
    userToken,
    destinationToken: payer.destination_token,
    currency: 'MXN',
  });
  const selfie = attributes.find(({ type }) => type === 'IDSelfieCollection');
  return { link: new URL(String(selfie?.value)).pathname, userToken };
}
