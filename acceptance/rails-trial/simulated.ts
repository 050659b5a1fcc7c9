import { listMagicValues, type MagicOutcome } from '../../server/src/rails/sandbox/magic.ts';
import type { AskedPayout, BookedPayment, Counterpart } from './counterpart.ts';

/**
 * The simulated network of staging, among the real rails. It keeps no books: what it did with a
 * payout follows from the value that the payout carries.
 */

type PlannedOutcome = Pick<BookedPayment, 'state'> & { isReturned: boolean };

const plannedOutcomes: Readonly<Partial<Record<MagicOutcome, PlannedOutcome>>> = {
  paid_at_once: { state: 'paid', isReturned: false },
  rejected: { state: 'refused', isReturned: false },
  rejected_later: { state: 'refused', isReturned: false },
  returned_late: { state: 'paid', isReturned: true },
  unknown_then_paid: { state: 'paid', isReturned: false },
  unknown_then_rejected: { state: 'refused', isReturned: false },
  retry_then_paid: { state: 'paid', isReturned: false },
};
/** The simulated network never reports an outcome of these. */
const silentOutcome = 'unknown';
const ordinary = 'ordinary';

export function openSimulated(): Counterpart {
  const row = listMagicValues().find(
    ({ destinations, type }) => destinations.includes('MEX MXN') && type === 'BankAccountNumber',
  );
  const way = { country: 'MEX', deliveryType: 'BANK_DEPOSIT', currency: 'MXN' };
  const outcomes = [...Object.keys(plannedOutcomes), silentOutcome] as MagicOutcome[];
  return {
    rail: 'sandbox',
    config: undefined,
    destinations: [
      { way, payerName: undefined, values: {}, plannedOutcome: ordinary },
      ...outcomes.map((plannedOutcome) => ({
        way,
        payerName: undefined,
        values: { BankAccountNumber: row?.values[plannedOutcome] ?? '' },
        plannedOutcome,
      })),
    ],
    isQuiet: () => Promise.resolve(true),
    listBooked: (asked) => Promise.resolve(asked.flatMap(describe)),
    close: () => Promise.resolve(),
  };
}

function describe({ reference, destination, currency, amountMinor }: AskedPayout): BookedPayment[] {
  if (destination.plannedOutcome === silentOutcome) return [];
  // What came here from a partner has an account number that means nothing to this network.
  const plannedOutcome = plannedOutcomes[destination.plannedOutcome as MagicOutcome] ?? {
    state: 'paid',
    isReturned: false,
  };
  return [
    {
      reference,
      recipient: undefined,
      currency,
      amountMinor,
      state: plannedOutcome.state,
      returnedMinor: plannedOutcome.isReturned ? amountMinor : 0n,
    },
  ];
}
