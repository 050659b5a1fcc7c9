import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Slot } from '../rails-trial/service-slots.ts';
import { createEndpoint, type Endpoint } from '../webhook-kit.ts';
import type { Receiver } from '../webhook-receiver.ts';
import { startReceiver } from '../webhook-receiver.ts';
import { type DrillLoad, startLoad } from './load.ts';
import { openPlainServer, type PlainServer } from './plain-server.ts';
import { type DrilledService, type Funded, openClient, prepareService } from './service.ts';

/** One of several complete installations: a server, a service, a worker, a partner, and a client. */

export type Cell = {
  readonly name: string;
  readonly folder: string;
  /** Where clients reach it: through the entry. */
  readonly publicUrl: string;
  readonly server: PlainServer;
  readonly service: DrilledService;
};

/** A client of a cell, and where it gets its webhooks. */
export type Client = Funded & { readonly receiver: Receiver; readonly endpoint: Endpoint };

export async function openCell(
  folder: string,
  { name, entryPort }: { name: string; entryPort: number },
): Promise<Cell> {
  const own = join(folder, name);
  mkdirSync(own, { mode: 0o755 });
  mkdirSync(join(own, 'erasures'));
  const publicUrl = `http://staging-api.${name}.pay.example:${entryPort}`;
  const server = await openPlainServer(own);
  const service = await prepareService(own, server.url, {
    OUTLAY_CELL: name,
    OUTLAY_PUBLIC_URL: publicUrl,
    OUTLAY_TRUST_PROXY: '127.0.0.1',
    OUTLAY_WEBHOOK_LOOPBACK: 'allowed',
    OUTLAY_CHECKPOINTS: join(own, 'checkpoints'),
    OUTLAY_ERASURES: join(own, 'erasures'),
    OUTLAY_CHECKPOINT_SECONDS: '1',
    OUTLAY_METRICS_TOKEN: randomBytes(16).toString('hex'),
  });
  await startProcesses(service);
  return { name, folder: own, publicUrl, server, service };
}

export async function startProcesses({ serve, work }: DrilledService): Promise<void> {
  await serve.start();
  await work.start();
}

/** The process that serves, as the entry shows it. */
const throughEntry = ({ service, publicUrl }: Cell): Slot => ({
  ...service.serve,
  baseUrl: publicUrl,
});

export async function openCellClient(cell: Cell): Promise<Client> {
  const funded = await openClient({ ...cell.service, serve: throughEntry(cell) });
  const receiver = await startReceiver();
  const endpoint = await createEndpoint(funded.account.api, receiver);
  return { ...funded, receiver, endpoint };
}

export function payThroughEntry(cell: Cell, client: Client): DrillLoad {
  const slot = throughEntry(cell);
  return startLoad({ ...client, folder: cell.folder, slots: () => [slot], clientsCount: 3 });
}

/** The machine of the cell dies: database, API and worker. */
export async function killCell({ service, server }: Cell): Promise<void> {
  await Promise.all([server.kill(), service.serve.kill(), service.work.kill()]);
}

export async function reviveCell({ service, server }: Cell): Promise<void> {
  await server.start();
  await startProcesses(service);
}

export async function closeCell({ service, server }: Cell): Promise<void> {
  await service.close();
  await server.close();
}
