import { testConformance } from '../../../testing/conformance/conformance.ts';
import { openPaypalCounterparty } from '../../../testing/setups/paypal.ts';
import { railModule } from './rail.ts';

testConformance({
  module: railModule,
  clock: 'steered',
  unsupported: { files: 'PayPal posts webhooks and lists its events' },
  callMsMax: 1000,
  booking: /^POST \/v1\/payments\/payouts HTTP/,
  openCounterparty: openPaypalCounterparty,
});
