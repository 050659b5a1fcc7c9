import { testConformance } from '../../../testing/conformance/conformance.ts';
import { openPartner } from '../../../testing/setups/partner.ts';
import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import { railModule } from './rail.ts';

testConformance({
  module: railModule,
  clock: 'real',
  unsupported: { files: 'it is told by callbacks and by asking' },
  booking: /^PUT \/payments\//,
  openCounterparty: async () => {
    const partner = await openPartner({
      settleMs: 30,
      collectMs: 30,
      fee: '0.50',
      rejectLaterPattern: '^rejected$',
      returnPattern: '^returned$',
      returnAfterMs: 30,
      callbackRetryMs: 50,
    });
    return {
      address: { host: '127.0.0.1', port: partner.port },
      config: (address) => ({
        baseUrl: `http://${address?.host}:${address?.port}`,
        signingKey: partner.keys.outlay,
        partnerKeys: [partner.keys.partner],
        timeoutSeconds: 1,
        orderSeconds: 1,
        bookingSeconds: 0,
        eventsSeconds: 1,
      }),
      instruct: (draft, fate) => ({
        ...draft,
        payerKey: fate,
        countryCode: 'ESP',
        deliveryType: 'BANK_DEPOSIT',
        currency: 'EUR',
        amountMinor: 12_345n,
        attributes: { bank_account_number: 'ES9121000418450200051332' },
      }),
      payments: async ({ reference }) => {
        const { payments } = await partner.readRecords();
        const payment = payments[reference];
        if (payment === undefined || payment.state === 'rejected') return [];
        const amountMinor = getAmountMinor(payment.amount, getCurrency(payment.currency));
        // What is accepted may yet be paid; what went out twice counts twice.
        return Array<bigint>(Math.max(1, payment.paidCount)).fill(amountMinor);
      },
      close: partner.close,
    };
  },
});
