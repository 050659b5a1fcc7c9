import { createHash, createHmac, createPublicKey } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getCurrency } from '../../../src/core/currency.ts';
import { formatAmount } from '../../../src/core/money.ts';
import { formatBody } from '../../../src/rails/fspiop/messages.ts';
import { readSignature } from '../../../src/rails/fspiop/signature.ts';
import { readMinor } from '../../../src/rails/kit/amounts.ts';
import { parseJson } from '../../../src/rails/kit/answers.ts';
import {
  type BookedTransfer,
  type HubBooks,
  hashBody,
  type KeyFiles,
  openHubBooks,
  openKeyFiles,
} from './hub-books.ts';
import {
  type Callback,
  createSender,
  hubBehaviors,
  hubFsp,
  payeeFsp,
  readBehavior,
  type SimulatorOptions,
} from './hub-callbacks.ts';

/**
 * A small hub with one wallet provider for tests: FSPIOP 1.1, durable records and selectable faults.
 * The reference for the API is Mojaloop's own toolkit (`toolkit.test.ts`).
 */
export type HubSimulator = {
  readonly address: { readonly host: string; readonly port: number };
  readonly books: HubBooks;
  readonly keys: KeyFiles;
  /** Requests received, by method and resource, such as `POST /transfers`. */
  readonly counts: ReadonlyMap<string, number>;
  /** Returns when all due callbacks have been delivered or lost. */
  settle(): Promise<void>;
  callbackTo(url: string): void;
  close(): Promise<void>;
};

type Call = {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
};
type Reply = { readonly status: number; readonly code?: string };

const accepted: Reply = { status: 202 };

export async function openHubSimulator(options: SimulatorOptions): Promise<HubSimulator> {
  const keys = openKeyFiles(options.folder);
  const books = openHubBooks(options.folder);
  const counts = new Map<string, number>();
  const sender = createSender(options, keys);
  const hub: Hub = { options, books, keys, call: sender.call };
  const server = createServer((request, response) => {
    const reply = async (): Promise<void> => {
      const call = await readCall(request);
      const name = `${call.method} /${call.path.split('/')[1] ?? ''}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
      const { status, code } = await answer(hub, call);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(code === undefined ? '' : JSON.stringify(describeError(code)));
    };
    // An aborted or invalid request gets no answer.
    reply().catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    address: { host: '127.0.0.1', port },
    books,
    keys,
    counts,
    settle: sender.settle,
    callbackTo: sender.callbackTo,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
      await sender.close();
      books.close();
    },
  };
}

type Hub = {
  readonly options: SimulatorOptions;
  readonly books: HubBooks;
  readonly keys: KeyFiles;
  readonly call: (callback: Callback) => void;
};

async function readCall(request: IncomingMessage): Promise<Call> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) headers[name] = String(value);
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers,
    body: Buffer.concat(chunks).toString('utf8'),
  };
}

async function answer(hub: Hub, call: Call): Promise<Reply> {
  const payerFsp = hub.options.payerFsp ?? 'outlay';
  const publicKeys = new Map([[payerFsp, createPublicKey(hub.keys.payer.publicPem)]]);
  // Over the parsed body with sorted members, as the current Mojaloop library does.
  const body = call.body === '' ? '' : formatBody(parseJson(call.body) ?? null);
  const proof = await readSignature(
    { ...call, uris: [call.path], body: Buffer.from(body) },
    publicKeys,
  );
  if (proof.kind === 'unproven') return { status: 400, code: '3105' };
  const [, resource, id = '', wallet = ''] = call.path.split('/');
  switch (`${call.method} ${resource}`) {
    case 'GET parties':
      return answerParty(hub, wallet);
    case 'POST quotes':
      return answerQuote(hub, call);
    case 'POST transfers':
      return answerTransfer(hub, call);
    case 'GET transfers':
      return answerQuery(hub, id);
    default:
      return { status: 404, code: '3002' };
  }
}

function answerParty(hub: Hub, wallet: string): Reply {
  const behavior = readBehavior(wallet);
  const uri = `/parties/MSISDN/${wallet}`;
  if (behavior.startsWith('32')) {
    const content = describeError(behavior);
    hub.call({
      resource: 'parties',
      uri: `${uri}/error`,
      source: hubFsp,
      content,
      behavior: behavior,
    });
    return accepted;
  }
  const isOther = behavior === hubBehaviors.otherName;
  const party = {
    partyIdInfo: { partyIdType: 'MSISDN', partyIdentifier: wallet, fspId: payeeFsp },
    name: isOther ? 'Another Name' : 'Ada Wanjiku Otieno',
    personalInfo: { complexName: { firstName: 'Ada', lastName: isOther ? 'Name' : 'Otieno' } },
  };
  hub.call({ resource: 'parties', uri, source: payeeFsp, content: { party }, behavior: behavior });
  return accepted;
}

type QuoteBody = {
  quoteId: string;
  transactionId: string;
  payee: { partyIdInfo: { partyIdentifier: string } };
  payer: unknown;
  amount: { currency: string; amount: string };
  transactionType: unknown;
};

function answerQuote(hub: Hub, call: Call): Reply {
  const body = parseJson(call.body) as QuoteBody;
  const wallet = body.payee.partyIdInfo.partyIdentifier;
  const behavior = readBehavior(wallet);
  const uri = `/quotes/${body.quoteId}`;
  if (behavior === '5101' || behavior === '5103') {
    const content = describeError(behavior);
    hub.call({
      resource: 'quotes',
      uri: `${uri}/error`,
      source: payeeFsp,
      content,
      behavior: behavior,
    });
    return accepted;
  }
  const { currency, amount } = body.amount;
  const amountMinor = readMinor(amount, currency) ?? 0n;
  const feeMinor = (amountMinor * BigInt(hub.options.feeBasisPoints ?? 0)) / 10_000n;
  const write = (minor: bigint): string => formatAmount(minor, getCurrency(currency));
  const transferAmount = { currency, amount: write(amountMinor + feeMinor) };
  const { quoteId, transactionId, payee, payer, transactionType } = body;
  const transaction = {
    quoteId,
    transactionId,
    payee,
    payer,
    amount: transferAmount,
    transactionType,
  };
  const ilpPacket = formatPacket(amountMinor + feeMinor, wallet, transaction);
  const content = {
    transferAmount,
    payeeReceiveAmount: body.amount,
    payeeFspFee: { currency, amount: write(feeMinor) },
    expiration: new Date(hub.options.nowMs() + 60_000).toISOString(),
    ilpPacket,
    condition: createHash('sha256').update(fulfil(hub, ilpPacket)).digest('base64url'),
  };
  hub.call({ resource: 'quotes', uri, source: payeeFsp, content, behavior: behavior });
  return accepted;
}

/** Only the provider can derive the fulfilment of its packets. */
function fulfil({ keys }: Hub, ilpPacket: string): Buffer {
  return createHmac('sha256', keys.payee.privatePem).update(ilpPacket).digest();
}

/** A payment packet of ILP version 1, whose data is Base64url of JSON. */
function formatPacket(amountMinor: bigint, wallet: string, transaction: unknown): string {
  const amount = Buffer.alloc(8);
  amount.writeBigUInt64BE(amountMinor);
  const data = Buffer.from(JSON.stringify(transaction)).toString('base64url');
  const content = Buffer.concat([
    amount,
    formatField(Buffer.from(`g.${payeeFsp}.msisdn.${wallet}`)),
    formatField(Buffer.from(data)),
    Buffer.of(0),
  ]);
  return Buffer.concat([Buffer.of(1), formatField(content)]).toString('base64url');
}

function formatField(content: Buffer): Buffer {
  if (content.length < 0x80) return Buffer.concat([Buffer.of(content.length), content]);
  const size = Buffer.alloc(2);
  size.writeUInt16BE(content.length);
  return Buffer.concat([Buffer.of(0x82), size, content]);
}

type TransferBody = {
  transferId: string;
  payerFsp: string;
  payeeFsp: string;
  amount: { currency: string; amount: string };
  ilpPacket: string;
  condition: string;
  expiration: string;
  extensionList?: { extension: { key: string; value: string }[] };
};

function answerTransfer(hub: Hub, call: Call): Reply {
  const body = parseJson(call.body) as TransferBody;
  const { transferId, ilpPacket, amount } = body;
  const hash = hashBody(call.body);
  const known = hub.books.find(transferId);
  if (known !== undefined) {
    if (known.hash !== hash) sendTransferError(hub, transferId, '3106');
    else if (known.state !== 'RESERVED') sendTransferState(hub, known);
    return accepted;
  }
  const condition = createHash('sha256').update(fulfil(hub, ilpPacket)).digest('base64url');
  const fields = { transferId, ilpPacket, hash, ...amount, payer: body.payerFsp };
  const reference =
    body.extensionList?.extension.find(({ key }) => key === 'payoutReference')?.value ?? '';
  const abort = (code: string): Reply => {
    const aborted: BookedTransfer = { ...fields, reference, state: 'ABORTED', code };
    hub.books.write(aborted);
    sendTransferState(hub, aborted);
    return accepted;
  };
  if (Date.parse(body.expiration) <= hub.options.nowMs()) return abort('3303');
  if (body.payeeFsp !== payeeFsp) return abort('3203');
  if (condition !== body.condition) return abort('5105');
  const behavior = readBehavior(readWallet(ilpPacket));
  if (/^[45]/.test(behavior)) return abort(behavior);
  const committed: BookedTransfer = { ...fields, reference, state: 'COMMITTED', code: '' };
  hub.books.write({ ...committed, state: 'RESERVED' });
  hub.books.write(committed);
  sendTransferState(hub, committed);
  return behavior === hubBehaviors.failsAfterBooking ? { status: 500 } : accepted;
}

/** The last part of the packet's address, before its data. */
function readWallet(ilpPacket: string): string {
  const text = Buffer.from(ilpPacket, 'base64url').toString('latin1');
  return /\.msisdn\.(\d+)/.exec(text)?.[1] ?? '';
}

function answerQuery(hub: Hub, transferId: string): Reply {
  const known = hub.books.find(transferId);
  if (known === undefined) sendTransferError(hub, transferId, '3208');
  else sendTransferState(hub, known);
  return accepted;
}

function sendTransferError(hub: Hub, transferId: string, code: string): void {
  const uri = `/transfers/${transferId}/error`;
  const content = describeError(code);
  hub.call({ resource: 'transfers', uri, source: hubFsp, content, behavior: '' });
}

function sendTransferState(hub: Hub, { transferId, state, ilpPacket, code }: BookedTransfer): void {
  const behavior = readBehavior(readWallet(ilpPacket));
  if (state === 'ABORTED') {
    sendTransferError(hub, transferId, code);
    return;
  }
  const right = fulfil(hub, ilpPacket);
  const shown =
    behavior === hubBehaviors.wrongFulfilment ? Buffer.from(right).fill(7, 0, 1) : right;
  const content = {
    transferState: state,
    completedTimestamp: new Date(hub.options.nowMs()).toISOString(),
    ...(state === 'COMMITTED' && { fulfilment: shown.toString('base64url') }),
  };
  const uri = `/transfers/${transferId}`;
  hub.call({ resource: 'transfers', uri, source: payeeFsp, content, behavior: behavior });
}

function describeError(code: string) {
  return { errorInformation: { errorCode: code, errorDescription: 'selected by the test' } };
}
