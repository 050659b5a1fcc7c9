import { testConformance } from '../../../testing/conformance/conformance.ts';
import { bankSecret, openBankCounterparty } from '../../../testing/counterparties/template/bank.ts';
import { railModule } from './rail.ts';

testConformance({
  module: railModule,
  clock: 'steered',
  unsupported: { files: 'the bank posts callbacks' },
  callMsMax: 300,
  booking: /^POST \/payments/,
  openCounterparty: (place) =>
    openBankCounterparty(place, (url) => ({ url, secret: bankSecret, timeoutSeconds: 0.2 })),
});
