import { z } from 'zod';
import { testConformance } from '../../../testing/conformance/conformance.ts';
import type { ExpectedOutcome } from '../../../testing/conformance/subject.ts';
import { findMagicOutcome, listMagicValues, type MagicOutcome } from './magic.ts';
import { createSandboxRail } from './rail.ts';

const none = 'the simulated network is a part of the service';
const outcomes: Record<ExpectedOutcome, MagicOutcome> = {
  paid: 'ready_then_collected',
  rejected: 'rejected_later',
  returned: 'returned_late',
};

/** It has no books: what it would pay follows from the instruction alone. */
testConformance({
  module: {
    kind: 'sandbox',
    reference: createRail(() => 0).reference,
    configSchema: z.object({}),
    create: async (_config, host) => createRail(() => host.nowMs()),
  },
  clock: 'steered',
  unsupported: {
    connection: none,
    http: none,
    callbacks: none,
    files: none,
    cancellation: 'a payment is on its way at once',
    books: 'it keeps no books: any instruction is as good as sent',
    steps: 'where a payment stands is a function: there is nothing that could be done by half',
  },
  openCounterparty: async () => ({
    config: () => ({}),
    instruct: (draft, plannedOutcome) => {
      const [type, value] = findMagicValue(outcomes[plannedOutcome]);
      return {
        ...draft,
        payerKey: 'any',
        countryCode: 'MEX',
        deliveryType: 'BANK_DEPOSIT',
        currency: 'MXN',
        amountMinor: 180_000n,
        attributes: { [type]: value },
      };
    },
    payments: async ({ attributes, amountMinor }) =>
      findMagicOutcome(attributes) === outcomes.rejected ? [] : [amountMinor],
    close: async () => undefined,
  }),
});

function createRail(nowMs: () => number): ReturnType<typeof createSandboxRail> {
  return createSandboxRail({ nowMs, findScript: async () => undefined });
}

function findMagicValue(outcome: MagicOutcome): [type: string, value: string] {
  for (const { type, values } of listMagicValues()) {
    const value = values[outcome];
    if (value !== undefined) return [type, value];
  }
  throw new Error(`no value makes a payment ${outcome}`);
}
