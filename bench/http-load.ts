import { runLoad } from './load.ts';
import type { LoadShape, Measure } from './subject.ts';

/** Requests over as many connections as may be in flight, one at a time on each. */
export async function measureHttp(
  port: number,
  load: LoadShape,
  next: () => string | undefined,
): Promise<Measure> {
  const { seconds, inFlight: connections } = load;
  const stop = load.meter?.start();
  const result = await runLoad({ port, connections, seconds, next });
  const processor = stop?.();
  if (result.failures > 0) throw new Error(`${result.failures} requests failed`);
  const { count, p50, p99 } = result;
  return { count, seconds: result.seconds, p50Ms: p50, p99Ms: p99, processor };
}
