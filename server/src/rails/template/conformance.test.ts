import { testConformance } from '../../../testing/conformance/conformance.ts';
import { bankSecret, openBank } from '../../../testing/counterparties/template/bank.ts';
import { railModule } from './rail.ts';

testConformance({
  module: railModule,
  clock: 'steered',
  cannot: { files: 'the bank posts callbacks' },
  callMsMax: 300,
  booking: /^POST \/payments/,
  openCounterpart: async (place) => {
    const bank = await openBank(place);
    return {
      address: bank.address,
      config: (address) => ({
        url: `http://127.0.0.1:${address?.port}`,
        secret: bankSecret,
        timeoutSeconds: 0.2,
      }),
      instruct: (draft, outcome) => {
        bank.expect(draft.reference, outcome);
        return {
          ...draft,
          payerKey: 'bank',
          countryCode: 'ESP',
          deliveryType: 'BANK_DEPOSIT',
          currency: 'EUR',
          amountMinor: 12_345n,
          attributes: { BankAccountNumber: 'ES9121000418450200051332' },
        };
      },
      payments: async ({ reference }) => bank.listAmounts(reference),
      turn: () => bank.advance(),
      close: () => bank.close(),
    };
  },
});
