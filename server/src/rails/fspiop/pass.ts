import type { CallContext } from '../contract/contract.ts';
import type { Parts, Step } from './flow.ts';
import { describeEnd, type State, type StoredPayment } from './payment.ts';

/** One pass: due steps, unanswered requests, and notifications of the rail's own refusals. */

const concurrencyMax = 8;
const readyStates: readonly State[] = ['quote_due', 'transfer_due'];
const waitingStates: readonly State[] = ['lookup', 'quote', 'transfer'];

export function createPass(parts: Parts, step: Step) {
  const { settings, host, records } = parts;
  /** Waiting payments are listed when one can be due, and not at every wake. */
  let nextScanMs = 0;

  const run = async (stored: StoredPayment, context: CallContext): Promise<void> => {
    if (context.signal.aborted) return;
    try {
      await step(stored, context);
    } catch (error) {
      // A failure does not stop the others; the next pass continues from the record.
      const name = error instanceof Error ? error.message : 'unknown';
      const { transferId } = stored.value;
      host.log('error', 'a step of a payment failed', { transferId, error: name });
    }
  };

  const notifyRefusals = async (): Promise<void> => {
    for await (const stored of records.list({ state: 'refused_untold' })) {
      const observation = describeEnd(stored, host.nowMs());
      if (observation === undefined) continue;
      const { id, reference, code = '' } = observation;
      const raw = Buffer.from(JSON.stringify({ reference, code }));
      await host.receive({ id, channel: 'poll', raw, observations: [observation] });
      await records.write(stored, { ...stored, state: 'refused' });
    }
  };

  return async (context: CallContext): Promise<number | undefined> => {
    for (const state of readyStates) {
      await forEach(records.list({ state }), (stored) => run(stored, context));
    }
    const nowMs = host.nowMs();
    let nextMs = nowMs + settings.againMs;
    if (nowMs >= nextScanMs) {
      for (const state of waitingStates) {
        await forEach(records.list({ state }), async (stored) => {
          if (stored.value.againAtMs <= nowMs) await run(stored, context);
          else nextMs = Math.min(nextMs, stored.value.againAtMs);
        });
      }
      nextScanMs = nextMs;
    }
    await notifyRefusals();
    return nextScanMs;
  };
}

/** Up to `concurrencyMax` at the same time. */
async function forEach<Item>(
  items: AsyncGenerator<Item>,
  act: (item: Item) => Promise<void>,
): Promise<void> {
  const take = async (): Promise<void> => {
    for (;;) {
      const item = await items.next();
      if (item.done === true) return;
      await act(item.value);
    }
  };
  await Promise.all(Array.from({ length: concurrencyMax }, take));
}
