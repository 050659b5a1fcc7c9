import { createHash, createPrivateKey } from 'node:crypto';
import { nameType, type Resource } from '../../../src/rails/fspiop/messages.ts';
import { signMessage } from '../../../src/rails/fspiop/signature.ts';
import type { KeyFiles } from './hub-books.ts';

/** How the simulated hub calls back, and how badly. */

/**
 * What becomes of a payment stands in its wallet's number, where that ends in 99 and four digits: a
 * code of the API (32xx at the look-up, 5101 and 5103 at the quote, others of 4 and 5 at the
 * transfer), or a habit. To any other wallet it is paid.
 */
export const habits = {
  wrongFulfilment: '9001',
  /** The first callback about the transfer does not come. */
  lostCallbacks: '9002',
  repeatedCallbacks: '9003',
  /** The transfer is booked and answered with an error of the server. */
  failsAfterBooking: '9004',
  otherName: '9005',
} as const;

/** The four digits; "" where it is an ordinary wallet. */
export function readHabit(wallet: string): string {
  return /99(\d{4})$/.exec(wallet)?.[1] ?? '';
}

export const hubFsp = 'hub';
export const payeeFsp = 'wallets';

export type SimulatorOptions = {
  readonly folder: string;
  readonly port: number;
  /** Where callbacks go, without a final slash. */
  readonly callbackUrl: string;
  readonly nowMs: () => number;
  readonly payerFsp?: string;
  /** Before each callback. */
  readonly delayMs?: number;
  /** Of a hundred callbacks, so many are lost, or come twice. */
  readonly lostPercent?: number;
  readonly repeatedPercent?: number;
  /** What the provider takes on top of an amount, in hundredths of a percent. */
  readonly feeBasisPoints?: number;
};

export type Callback = {
  readonly resource: Resource;
  readonly uri: string;
  readonly source: typeof hubFsp | typeof payeeFsp;
  readonly content: unknown;
  readonly habit: string;
};
/** Sends callbacks; what cannot be delivered is lost, as with many a hub. */
export function createSender(options: SimulatorOptions, keys: KeyFiles) {
  const { nowMs, delayMs = 0, lostPercent = 0, repeatedPercent = 0 } = options;
  const signingKeys = {
    [hubFsp]: createPrivateKey(keys.hub.privatePem),
    [payeeFsp]: createPrivateKey(keys.payee.privatePem),
  };
  const abort = new AbortController();
  const underWay = new Set<Promise<void>>();
  const heard = new Map<string, number>();
  let baseUrl = options.callbackUrl;

  const deliver = async ({ resource, uri, source, content }: Callback): Promise<void> => {
    const body = JSON.stringify(content);
    const destination = options.payerFsp ?? 'outlay';
    const date = new Date(nowMs()).toUTCString();
    const head = { method: 'PUT', uri, source, destination, date };
    const headers = {
      'content-type': nameType(resource),
      date,
      'fspiop-source': source,
      'fspiop-destination': destination,
      'fspiop-uri': uri,
      'fspiop-http-method': 'PUT',
      'fspiop-signature': await signMessage(head, body, signingKeys[source]),
    };
    const signal = AbortSignal.any([abort.signal, AbortSignal.timeout(10_000)]);
    try {
      await fetch(`${baseUrl}${uri}`, { method: 'PUT', headers, body, signal });
    } catch {
      // Lost. The payer asks when it misses it.
    }
  };

  const send = async (callback: Callback, times: number): Promise<void> => {
    await new Promise((resolve) => {
      setTimeout(resolve, delayMs);
    });
    for (let count = 0; count < times; count += 1) await deliver(callback);
  };

  return {
    call: (callback: Callback): void => {
      const { uri, habit, resource } = callback;
      const number = (heard.get(uri) ?? 0) + 1;
      heard.set(uri, number);
      // The same trial has the same chance each time, and a repetition another one.
      const hash = createHash('sha256').update(`${uri} ${number}`).digest();
      const chance = (hash.readUInt16BE() * 100) / 65_536;
      const isLost = habit === habits.lostCallbacks && resource === 'transfers' && number === 1;
      if (isLost || chance < lostPercent) return;
      const isRepeated =
        habit === habits.repeatedCallbacks || chance < lostPercent + repeatedPercent;
      const sending = send(callback, isRepeated ? 2 : 1).finally(() => underWay.delete(sending));
      underWay.add(sending);
    },
    settle: async (): Promise<void> => {
      while (underWay.size > 0) await Promise.all(underWay);
    },
    callbackTo: (url: string): void => {
      baseUrl = url;
    },
    close: async (): Promise<void> => {
      abort.abort();
      await Promise.all(underWay);
    },
  };
}
