import { join } from 'node:path';
import { getCurrency } from '../../server/src/core/currency.ts';
import { getAmountMinor } from '../../server/src/core/money.ts';
import {
  openHubBooks,
  openKeyFiles,
} from '../../server/testing/counterparties/fspiop/hub-books.ts';
import { payeeFsp } from '../../server/testing/counterparties/fspiop/hub-callbacks.ts';
import {
  type BookedPayment,
  type Counterpart,
  type CounterpartPlaces,
  declareRail,
} from './counterpart.ts';
import { createRevivable, findFreePort } from './processes.ts';
import { writeSecret } from './secrets.ts';

/** Mobile wallets behind the simulated hub. */

/** Numbers that end in 99 and these digits say what the hub does; to all others it pays. */
const habitEndings = [
  // Look-up, quote and transfer are refused.
  '3204',
  '5103',
  '5106',
  // Callbacks lost and repeated, an error after the booking.
  '9002',
  '9003',
  '9004',
];
const numbers: readonly string[] = [
  ...Array.from({ length: 8 }, (_, index) => `+25471200000${index}`),
  ...habitEndings.map((ending) => `+25471299${ending}`),
];

export async function openHub(places: CounterpartPlaces): Promise<Counterpart> {
  const { folder, callbackUrl } = places;
  const keys = openKeyFiles(folder);
  const port = await findFreePort();
  const hub = createRevivable({
    args: [
      join(import.meta.dirname, 'hub-process.ts'),
      `--folder=${folder}`,
      `--callback=${callbackUrl}`,
      `--port=${port}`,
    ],
    logFile: join(folder, 'simulator.log'),
    isReady: (printed) => printed.includes('listening on'),
  });
  await hub.start();
  const config = {
    hubUrl: `http://127.0.0.1:${port}`,
    fspId: 'outlay',
    hubFspId: 'hub',
    privateKey: writeSecret(folder, { name: 'signing', value: keys.payer.privatePem }),
    publicKeys: { hub: keys.hub.publicPem, [payeeFsp]: keys.payee.publicPem },
    payer: { idType: 'BUSINESS', id: 'outlay' },
    feeMax: { basisPoints: 100 },
    // The users of the trial have other names than the simulated wallets.
    nameCheck: 'off',
    callMs: 2000,
    againMs: 400,
    // By the environment's clock, which the trial moves by minutes.
    termsMs: 86_400_000,
    transferMs: 3_600_000,
  };
  const rail = 'wallets';
  return {
    rail,
    config: declareRail({ kind: 'fspiop', name: rail, config }, [
      {
        key: 'kenya',
        name: 'Trial wallets',
        country: 'KEN',
        deliveryType: 'MOBILE_WALLET',
        currencies: ['KES'],
      },
    ]),
    destinations: numbers.map((number) => ({
      way: { country: 'KEN', deliveryType: 'MOBILE_WALLET', currency: 'KES' },
      payerName: 'Trial wallets',
      values: { PhoneNumber: number },
      plannedOutcome: number.slice(-4),
    })),
    crash: async () => {
      await hub.kill();
      await hub.start();
    },
    // It calls back within moments or never.
    isQuiet: () => Promise.resolve(true),
    listBooked: () => Promise.resolve(listTransfers(folder)),
    close: hub.kill,
  };
}

/** What the hub moved includes what the wallets' provider took: a hundredth, on top. */
function listTransfers(folder: string): BookedPayment[] {
  const books = openHubBooks(folder);
  const transfers = books.list();
  books.close();
  return transfers.map(({ reference, currency, amount, state }) => {
    const moved = getAmountMinor(amount, getCurrency(currency));
    return {
      reference,
      recipient: undefined,
      currency,
      amountMinor: takeFeeOff(moved),
      state: ({ COMMITTED: 'paid', ABORTED: 'refused', RESERVED: 'open' } as const)[state],
      returnedMinor: 0n,
    };
  });
}

/** The amount that with its fee, rounded down, is what was moved. */
function takeFeeOff(moved: bigint): bigint {
  let amount = (moved * 100n) / 101n;
  while (amount + amount / 100n < moved) amount += 1n;
  return amount;
}
