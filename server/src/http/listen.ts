import { ConfigError } from '../config.ts';
import type { HttpServer } from './server.ts';

/** Opens the ports of a process. */

export type Port = { readonly host: string; readonly port: number };

/**
 * Connections that wait to be accepted. Thousands may arrive at once, and a client whose connection
 * finds no place retries only after seconds. The system may allow fewer (net.core.somaxconn).
 */
const backlog = 8192;

/** @throws ConfigError where another program uses the port. */
export function listen({ app }: HttpServer, place: Port, setting: string): Promise<string> {
  return usePort(place, setting, () => app.listen({ ...place, backlog }));
}

/** @throws ConfigError where another program uses the port, which names the setting. */
export async function usePort<Result>(
  { host, port }: Port,
  setting: string,
  open: () => Promise<Result>,
): Promise<Result> {
  try {
    return await open();
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE')) throw cause;
    throw new ConfigError(`port ${port} on ${host} is in use: set ${setting} to another port`, {
      cause,
    });
  }
}
