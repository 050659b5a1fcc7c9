import { testConformance } from '../../../testing/conformance/conformance.ts';
import { createOpenCounterparty } from '../../../testing/setups/adyen.ts';
import { railModule } from './rail.ts';

testConformance({
  module: railModule,
  clock: 'steered',
  unsupported: { files: 'Adyen posts webhooks' },
  callMsMax: 1000,
  booking: /^POST \/btl\/v4\/transfers HTTP/,
  openCounterparty: createOpenCounterparty({
    payerKeys: ['card'],
    options: { fee: { value: 25, currency: 'EUR', by: 'event' } },
  }),
});
