import { testConformance } from '../../../testing/conformance/conformance.ts';
import { openPaypalCounterparty } from '../../../testing/setups/paypal.ts';
import { railModule } from './rail.ts';

/** The conformance suite with batches of several items. */

testConformance({
  module: railModule,
  clock: 'steered',
  unsupported: { files: 'PayPal posts webhooks and lists its events' },
  isVariant: true,
  callMsMax: 1000,
  booking: /^POST \/v1\/payments\/payouts HTTP/,
  openCounterparty: async (place) => {
    const counterparty = await openPaypalCounterparty(place);
    const config: typeof counterparty.config = (address) => ({
      ...(counterparty.config(address) as object),
      batchItemsMax: 20,
      batchWaitSeconds: 0,
    });
    return { ...counterparty, config };
  },
});
