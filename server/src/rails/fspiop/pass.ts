import type { CallContext } from '../contract/contract.ts';
import type { Parts, Step } from './flow.ts';
import { describeEnd, type State } from './payment.ts';
import type { Held } from './payment-records.ts';

/** The rail's own pass: next steps, what was not answered, and what the service has not heard. */

const concurrencyMax = 8;
const readyStates: readonly State[] = ['quote_due', 'transfer_due'];
const waitingStates: readonly State[] = ['lookup', 'quote', 'transfer'];

export function createPass(parts: Parts, step: Step) {
  const { settings, host, records } = parts;
  /** Those that wait are looked through when one of them can be due, and not at every wake. */
  let lookAtMs = 0;

  const run = async (held: Held, context: CallContext): Promise<void> => {
    if (context.signal.aborted) return;
    try {
      await step(held, context);
    } catch (error) {
      // One that fails does not keep the others; what was written is taken up by the next pass.
      const name = error instanceof Error ? error.message : 'unknown';
      const { transferId } = held.payment;
      host.log('error', 'a step of a payment failed', { transferId, error: name });
    }
  };

  const tell = async (): Promise<void> => {
    for await (const held of records.list('refused_untold')) {
      const { state, payment } = held;
      const observation = describeEnd(state, payment, host.nowMs());
      if (observation === undefined) continue;
      const { id, reference, code = '' } = observation;
      const raw = Buffer.from(JSON.stringify({ reference, code }));
      await host.receive({ id, channel: 'poll', raw, observations: [observation] });
      await records.write(held, { state: 'refused', payment });
    }
  };

  return async (context: CallContext): Promise<number | undefined> => {
    for (const state of readyStates) {
      await forEach(records.list(state), (held) => run(held, context));
    }
    const nowMs = host.nowMs();
    let nextMs = nowMs + settings.againMs;
    if (nowMs >= lookAtMs) {
      for (const state of waitingStates) {
        await forEach(records.list(state), async (held) => {
          if (held.payment.againAtMs <= nowMs) await run(held, context);
          else nextMs = Math.min(nextMs, held.payment.againAtMs);
        });
      }
      lookAtMs = nextMs;
    }
    await tell();
    return lookAtMs;
  };
}

/** A few at the same time. */
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
