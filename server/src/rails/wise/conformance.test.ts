import { testConformance } from '../../../testing/conformance/conformance.ts';
import { bouncingEnd, refusedEnd } from '../../../testing/counterparties/wise/forms.ts';
import { openWise } from '../../../testing/counterparties/wise/wise-simulator.ts';
import { wisePayer } from '../../../testing/setups/wise.ts';
import { railModule } from './rail.ts';

const accounts = {
  paid: '28821822',
  rejected: `2882${refusedEnd}`,
  returned: `2882${bouncingEnd}`,
};

testConformance({
  module: railModule,
  clock: 'steered',
  unsupported: { files: 'Wise posts webhooks' },
  callMsMax: 1500,
  booking: /^POST \/v3\/profiles\/\d+\/transfers\/\d+\/payments/,
  openCounterparty: async ({ callbackUrl }) => {
    const wise = await openWise({ callbackUrl });
    return {
      payers: [wisePayer],
      address: { host: '127.0.0.1', port: wise.port },
      config: (address) => ({
        baseUrl: `http://127.0.0.1:${address?.port}`,
        credentials: { token: wise.token },
        profileId: wise.profileId,
        sourceCurrency: 'EUR',
        webhookKeys: [wise.webhookKey],
        timeoutSeconds: 0.3,
        fundingSeconds: 0.3,
      }),
      instruct: (draft, outcome) => ({
        ...draft,
        payerKey: wisePayer.key,
        countryCode: 'GBR',
        deliveryType: 'BANK_DEPOSIT',
        currency: 'GBP',
        amountMinor: 12_345n,
        attributes: { BankRoutingNumber: '23-14-70', BankAccountNumber: accounts[outcome] },
      }),
      // A transfer pays by being funded; one that was cancelled before its payout paid nothing.
      payments: async ({ reference }) => {
        const transfer = wise.find(reference);
        if (transfer === undefined || transfer.wasStopped) return [];
        return Array<bigint>(transfer.fundings).fill(transfer.quote.targetMinor);
      },
      advance: () => wise.advance(),
      close: wise.close,
    };
  },
});
