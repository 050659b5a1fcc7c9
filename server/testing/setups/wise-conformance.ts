import { railModule } from '../../src/rails/wise/rail.ts';
import type { ConformanceSubject } from '../conformance/subject.ts';
import { bouncingEnd, refusedEnd } from '../counterparties/wise/forms.ts';
import { openWise } from '../counterparties/wise/wise-simulator.ts';
import { wisePayer } from './wise.ts';

/** The rail against the simulated Wise, for the conformance suite. */

const accounts = {
  paid: '28821822',
  rejected: `2882${refusedEnd}`,
  returned: `2882${bouncingEnd}`,
};

export function describeWise(
  booking: RegExp,
  changes: object = {},
): ConformanceSubject<ReturnType<typeof railModule.configSchema.parse>> {
  return {
    module: railModule,
    clock: 'steered',
    unsupported: { files: 'Wise posts webhooks' },
    callMsMax: 1500,
    booking,
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
          ...changes,
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
        // A transfer pays by being funded; one that was canceled before its payout paid nothing.
        payments: async ({ reference }) => {
          const transfer = wise.find(reference);
          if (transfer === undefined || transfer.wasStopped) return [];
          return Array<bigint>(transfer.fundings).fill(transfer.quote.targetMinor);
        },
        advance: () => wise.advance(),
        close: wise.close,
      };
    },
  };
}
