import { listMagicValues, type MagicOutcome } from '../../server/src/rails/sandbox/magic.ts';
import type { AskedPayout, BookedPayment, Counterpart } from './counterpart.ts';

/**
 * The simulated network of staging, among the real rails. It keeps no books: what it did with a
 * payout follows from the value that the payout carries.
 */

type Fate = Pick<BookedPayment, 'state'> & { isReturned: boolean };

const fates: Readonly<Partial<Record<MagicOutcome, Fate>>> = {
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
  const outcomes = [...Object.keys(fates), silentOutcome] as MagicOutcome[];
  return {
    rail: 'sandbox',
    config: undefined,
    destinations: [
      { way, payerName: undefined, values: {}, fate: ordinary },
      ...outcomes.map((fate) => ({
        way,
        payerName: undefined,
        values: { BankAccountNumber: row?.values[fate] ?? '' },
        fate,
      })),
    ],
    isQuiet: () => Promise.resolve(true),
    listBooked: (asked) => Promise.resolve(asked.flatMap(describe)),
    close: () => Promise.resolve(),
  };
}

function describe({ reference, destination, currency, amountMinor }: AskedPayout): BookedPayment[] {
  if (destination.fate === silentOutcome) return [];
  // What came here from a partner has an account number that means nothing to this network.
  const fate = fates[destination.fate as MagicOutcome] ?? { state: 'paid', isReturned: false };
  return [
    {
      reference,
      recipient: undefined,
      currency,
      amountMinor,
      state: fate.state,
      returnedMinor: fate.isReturned ? amountMinor : 0n,
    },
  ];
}
