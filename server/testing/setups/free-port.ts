import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * For a server whose address is known before its start, or that is killed and started again. Below the
 * range from which the system gives ports to others meanwhile.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 30_000);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
