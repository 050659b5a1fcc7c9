import assert from 'node:assert/strict';
import { Webhook } from 'standardwebhooks';
import type { ExactNumber } from './exact.ts';
import { type Account, type Api, createAccount, ok, type Service } from './service.ts';
import { type Received, type Receiver, startReceiver } from './webhook-receiver.ts';

/** Webhook endpoints of tests, through the API. */

export type Endpoint = {
  webhook_token: string;
  status: string;
  status_reason: string;
  secret: string;
  public_key: string;
  previous_secret_until: string;
  failing_since: string;
  next_attempt_on: string;
  backlog: ExactNumber;
  replaying_until: ExactNumber;
};

export type Delivery = {
  delivery_token: string;
  webhook_id: string;
  kind: string;
  sequence: ExactNumber;
  type: string;
  try: ExactNumber;
  result: string;
  status_code: ExactNumber;
  error: string;
  retry_on: string;
  request: { url: string; body: string };
  answer: { content_type: string; body: string };
};

export async function createEndpoint(
  api: Api,
  receiver: Pick<Receiver, 'url'>,
  changes: Record<string, unknown> = {},
): Promise<Endpoint> {
  return ok(await api.post<Endpoint>('/webhooks', { url: receiver.url, ...changes }));
}

export const pathOf = ({ webhook_token: token }: Endpoint): string => `/webhooks/${token}`;

export async function readEndpoint(api: Api, endpoint: Endpoint): Promise<Endpoint> {
  return ok(await api.get<Endpoint>(pathOf(endpoint)));
}

export const listDeliveries = async (
  api: Api,
  endpoint: Endpoint,
  query = '',
): Promise<Delivery[]> => ok(await api.get<Delivery[]>(`${pathOf(endpoint)}/deliveries?${query}`));

/** Until the service has stored what the receiver has seen. */
export async function eventually<T>(
  read: () => Promise<T>,
  holds: (value: T) => boolean,
): Promise<T> {
  const endMs = performance.now() + 60_000;
  for (;;) {
    const value = await read();
    if (holds(value)) return value;
    assert.ok(performance.now() < endMs, `not in time: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const verifyWith = (secret: string, { text, headers }: Received): unknown =>
  new Webhook(secret).verify(text, headers as Record<string, string>);

export const sequencesOf = (received: readonly Received[]): number[] =>
  received.map(({ body }) => body.sequence);

export async function startClient(
  service: Pick<Service, 'demo'>,
): Promise<Account & { receiver: Receiver }> {
  return { ...(await createAccount(service)), receiver: await startReceiver() };
}
