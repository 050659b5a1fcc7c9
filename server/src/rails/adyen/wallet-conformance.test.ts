import { testConformance } from '../../../testing/conformance/conformance.ts';
import { createOpenCounterparty } from '../../../testing/setups/adyen.ts';
import { railModule } from './rail.ts';

testConformance({
  module: railModule,
  clock: 'steered',
  unsupported: { files: 'Adyen posts webhooks' },
  callMsMax: 1000,
  // The code is that of conformance.test.ts, where every step is one; here those up to the booking.
  stepsMax: 1,
  exchangesMax: 4,
  booking: /^POST \/btl\/v4\/transfers HTTP/,
  openCounterparty: createOpenCounterparty({
    payerKeys: ['wallet'],
    options: { fee: { value: 1, currency: 'EUR', by: 'transfer' } },
  }),
});
