import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testConformance } from '../../../testing/conformance/conformance.ts';
import { openHubSimulator } from '../../../testing/counterparties/fspiop/hub-simulator.ts';
import { describeConfig, nameWallet } from '../../../testing/setups/fspiop.ts';
import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import { nameTransfer } from './payment.ts';
import { railModule } from './rail.ts';

testConformance({
  module: railModule,
  clock: 'real',
  unsupported: {
    files: 'the hub reports by callbacks',
    return: 'in FSPIOP money comes back as a new payment, which this rail does not handle',
  },
  booking: /^POST \/transfers/,
  openCounterparty: async ({ callbackUrl, nowMs }) => {
    const folder = await mkdtemp(join(tmpdir(), 'fspiop-'));
    const simulator = await openHubSimulator({ folder, port: 0, callbackUrl, nowMs });
    return {
      address: simulator.address,
      config: (address) => ({
        ...describeConfig(simulator, `http://${address?.host}:${address?.port}`),
        callMs: 1_000,
        againMs: 50,
        // Recipients of the suite do not have the names of the simulated wallets.
        nameCheck: 'off',
      }),
      instruct: (draft, expectedOutcome) => ({
        ...draft,
        payerKey: 'kenya',
        countryCode: 'KEN',
        deliveryType: 'MOBILE_WALLET',
        currency: 'KES',
        amountMinor: 12_345n,
        attributes: { PhoneNumber: nameWallet(expectedOutcome === 'paid' ? '0000' : '5104') },
      }),
      payments: async ({ reference, currency }) => {
        const transfer = simulator.books.find(nameTransfer(reference));
        if (transfer === undefined || transfer.state === 'ABORTED') return [];
        return [getAmountMinor(transfer.amount, getCurrency(currency))];
      },
      close: async () => {
        await simulator.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
});
