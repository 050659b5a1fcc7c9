import { createHash, createPrivateKey } from 'node:crypto';
import { nameType, type Resource } from '../../../src/rails/fspiop/messages.ts';
import { signMessage } from '../../../src/rails/fspiop/signature.ts';
import type { KeyFiles } from './hub-books.ts';

/** The callbacks of the simulated hub, and their faults. */

/**
 * A wallet's number that ends in 99 and four digits selects the outcome: an error code of the API
 * (32xx at the look-up, 5101 and 5103 at the quote, others of 4 and 5 at the transfer) or one of
 * these behaviors. Payments to other wallets are paid.
 */
export const hubBehaviors = {
  wrongFulfilment: '9001',
  /** The first callback about the transfer is lost. */
  lostCallbacks: '9002',
  repeatedCallbacks: '9003',
  /** The transfer is booked and answered with status 500. */
  failsAfterBooking: '9004',
  otherName: '9005',
} as const;

/** The four digits; "" for other wallets. */
export function readBehavior(wallet: string): string {
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
  /** Percent of the callbacks that are lost, or sent twice. */
  readonly lostPercent?: number;
  readonly repeatedPercent?: number;
  /** The provider's fee on top of an amount. */
  readonly feeBasisPoints?: number;
};

export type Callback = {
  readonly resource: Resource;
  readonly uri: string;
  readonly source: typeof hubFsp | typeof payeeFsp;
  readonly content: unknown;
  readonly behavior: string;
};

/** Sends callbacks; one that cannot be delivered is lost. */
export function createSender(options: SimulatorOptions, keys: KeyFiles) {
  const { nowMs, delayMs = 0, lostPercent = 0, repeatedPercent = 0 } = options;
  const signingKeys = {
    [hubFsp]: createPrivateKey(keys.hub.privatePem),
    [payeeFsp]: createPrivateKey(keys.payee.privatePem),
  };
  const abort = new AbortController();
  const underWay = new Set<Promise<void>>();
  const deliveries = new Map<string, number>();
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
      // Lost: the payer queries a missing callback.
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
      const { uri, behavior, resource } = callback;
      const number = (deliveries.get(uri) ?? 0) + 1;
      deliveries.set(uri, number);
      // Repeatable in each run, and different for a repeated callback.
      const hash = createHash('sha256').update(`${uri} ${number}`).digest();
      const chance = (hash.readUInt16BE() * 100) / 65_536;
      const isLost =
        behavior === hubBehaviors.lostCallbacks && resource === 'transfers' && number === 1;
      if (isLost || chance < lostPercent) return;
      const isRepeated =
        behavior === hubBehaviors.repeatedCallbacks || chance < lostPercent + repeatedPercent;
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
