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
    files: 'it is told by callbacks',
    return: 'in FSPIOP money comes back as a new payment, which is not this rail’s',
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
        // The recipients of the suite have another name than the simulated wallets.
        nameCheck: 'off',
      }),
      instruct: (draft, fate) => ({
        ...draft,
        payerKey: 'kenya',
        countryCode: 'KEN',
        deliveryType: 'MOBILE_WALLET',
        currency: 'KES',
        amountMinor: 12_345n,
        attributes: { PhoneNumber: nameWallet(fate === 'paid' ? '0000' : '5104') },
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
