import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A provider of identity checks as operators connect one: cases over HTTP, answered later. */

export type SimulatedProvider = AsyncDisposable & {
  /** With the token, as the setting has it. */
  readonly setting: string;
  /** The cases that it has, each opened once. */
  readonly cases: ReadonlyMap<string, { user: Record<string, string>; images: string[] }>;
};

const token = 'provider-secret';

type Case = { id: string; user: Record<string, string>; images: { type: string }[] };

/** The first look at a case finds it open. Everything is clear but what has `refusedName`. */
export async function startIdentityProvider(
  options: { refusedName?: string } = {},
): Promise<SimulatedProvider> {
  const cases = new Map<string, { user: Record<string, string>; images: string[] }>();
  const looks = new Map<string, number>();
  const server = createServer((request, response) => {
    const answer = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    if (request.headers.authorization !== `Bearer ${token}`) return answer(401, {});
    if (request.method === 'POST') {
      void readBody(request).then(({ id, user, images }) => {
        cases.set(id, { user, images: images.map(({ type }) => type) });
        answer(201, { case: id });
      });
      return;
    }
    const id = decodeURIComponent(request.url?.split('/').at(-1) ?? '');
    const found = cases.get(id);
    if (found === undefined) return answer(404, {});
    const count = (looks.get(id) ?? 0) + 1;
    looks.set(id, count);
    if (count === 1) return answer(200, { status: 'open' });
    const isRefused = found.user['last_name'] === options.refusedName;
    answer(200, {
      status: 'closed',
      outcome: isRefused ? 'consider' : 'clear',
      reasons: isRefused ? ['The portrait was replaced.'] : [],
      face_similarity: isRefused ? 0.31 : 0.93,
      liveness: 'not_checked',
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    setting: `http://:${token}@127.0.0.1:${port}/cases`,
    cases,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function readBody(request: IncomingMessage): Promise<Case> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Case;
}
