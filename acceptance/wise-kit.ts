import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

/** The simulated Wise as a process of its own, which a test controls over HTTP. */

export type WiseForm = { type: string; fields: { key: string; when?: unknown }[] };

export type WiseTransfer = {
  reference: string;
  status: string;
  /** How often it was paid from the balance. */
  fundings: number;
  currency: string;
  amountMinor: string;
};

export type Wise = {
  readonly process: ChildProcess;
  readonly url: string;
  readonly token: string;
  readonly profileId: string;
  readonly webhookKey: string;
  /** Sends the changes of transfers to a rail of a service. */
  subscribe(callbackUrl: string): Promise<void>;
  /** The fee of every route from now on; with `orderFixedMinor` an order asks for more than was read. */
  setPricing(pricing: {
    fixedMinor: number;
    basisPoints: number;
    orderFixedMinor?: number;
  }): Promise<void>;
  /** The form of recipient accounts as it was at first. */
  readForm(currency: string): Promise<WiseForm>;
  setForm(currency: string, form: WiseForm): Promise<void>;
  listRecipients(): Promise<{ details: Record<string, unknown> }[]>;
  listTransfers(): Promise<WiseTransfer[]>;
};

type Place = Pick<Wise, 'url' | 'token' | 'profileId' | 'webhookKey'> & { control: string };

export async function startWise(): Promise<Wise> {
  const simulator = '../server/testing/counterparties/wise/wise-process.ts';
  const child = spawn(process.execPath, [join(import.meta.dirname, simulator)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { control, ...place } = await new Promise<Place>((resolve, reject) => {
    child.stdout.once('data', (line) => resolve(JSON.parse(String(line))));
    child.once('exit', (code) => reject(new Error(`the simulated Wise ended with ${code}`)));
  });
  const read = async <Body>(path: string): Promise<Body> =>
    (await (await fetch(`${control}/${path}`)).json()) as Body;
  const write = async (path: string, body: unknown): Promise<void> => {
    const sent = await fetch(`${control}/${path}`, { method: 'PUT', body: JSON.stringify(body) });
    assert.equal(sent.status, 200);
  };
  return {
    process: child,
    ...place,
    subscribe: (callbackUrl) => subscribe(place, callbackUrl),
    setPricing: (pricing) => write('pricing', pricing),
    readForm: (currency) => read(`forms/${currency}`),
    setForm: (currency, form) => write(`forms/${currency}`, form),
    listRecipients: () => read('recipients'),
    listTransfers: () => read('transfers'),
  };
}

async function subscribe(
  { url, token, profileId }: Omit<Place, 'control'>,
  callbackUrl: string,
): Promise<void> {
  const response = await fetch(`${url}/v3/profiles/${profileId}/subscriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'Outlay',
      trigger_on: 'transfers#state-change',
      delivery: { version: '4.0.0', url: callbackUrl },
    }),
  });
  assert.equal(response.status, 200);
}
