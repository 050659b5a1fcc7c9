import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { findCallbackFault, type Headers } from './authentication.ts';
import type { Access } from './description.ts';
import { findEventFault } from './forms.ts';
import { readStrictJson } from './strict-json.ts';

/** Receives the partner's callbacks. The first attempt of every event is turned away once. */

export type Received = {
  readonly eventId: string;
  readonly reference: string;
  readonly body: string;
  readonly fault: string | undefined;
  readonly status: number;
};

export type Listener = {
  readonly url: string;
  readonly received: readonly Received[];
  close(): void;
};

export async function openListener({
  access,
  port,
  publicUrl,
  nowMs,
}: {
  readonly access: Access;
  readonly port: number;
  /** Under which the partner reaches this listener; undefined: on this machine. */
  readonly publicUrl: string | undefined;
  readonly nowMs: () => number;
}): Promise<Listener> {
  const received: Received[] = [];
  let url = publicUrl ?? '';
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => void parts.push(part));
    request.once('end', () => {
      const body = Buffer.concat(parts);
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [
          name,
          [value ?? ''].flat().join(', '),
        ]),
      ) as Headers;
      const callback = { headers, body, url: new URL(url), nowS: nowMs() / 1000 };
      const proofFault = findCallbackFault(callback, access);
      const { json, fault: bodyFault = findEventFault(json) } = readStrictJson(body);
      const fault = proofFault ?? bodyFault;
      const { eventId, reference } = readEvent(json);
      const isFirst = !received.some((one) => one.eventId === eventId);
      const refused = proofFault === undefined ? 400 : 401;
      const status = fault === undefined ? (isFirst ? 503 : 200) : refused;
      received.push({ eventId, reference, body: body.toString('utf8'), fault, status });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, publicUrl === undefined ? '127.0.0.1' : undefined, resolve);
  });
  if (publicUrl === undefined) {
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/rails/check`;
  }
  return {
    url,
    received,
    close: () => {
      server.close();
      server.closeAllConnections?.();
    },
  };
}

function readEvent(json: unknown): { eventId: string; reference: string } {
  const event = json as { id?: unknown; payment?: { reference?: unknown } } | null | undefined;
  const toText = (value: unknown): string => (typeof value === 'string' ? value : '');
  return { eventId: toText(event?.id), reference: toText(event?.payment?.reference) };
}
