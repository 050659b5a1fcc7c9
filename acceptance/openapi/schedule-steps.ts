import { laterDay } from './stable-values.ts';
import { payoutOf, readText, type Step, userOf } from './steps.ts';

/** A payout for a later day, and its cancellation. */
export const scheduleSteps: Step[] = [
  {
    operationId: 'createPayout',
    summary: 'For a later day',
    request: (known) => ({
      params: userOf(known),
      body: {
        client_transfer_id: 'invoice-MXN-2051',
        destination_token: known['bank_token'],
        destination_currency_code: 'MXN',
        destination_amount: 1500,
        max_source_amount: 120,
        scheduled_for: laterDay,
        notify_user: false,
      },
    }),
    keep: (body) => ({ 'scheduled payout_token': readText(body, 'payout_token') }),
  },
  {
    operationId: 'commitPayout',
    summary: 'For a later day',
    request: (known) => ({ params: payoutOf(known, 'scheduled payout_token') }),
  },
  {
    operationId: 'cancelPayout',
    summary: 'Before it runs',
    request: (known) => ({ params: payoutOf(known, 'scheduled payout_token') }),
  },
  {
    operationId: 'cancelPayout',
    summary: 'A payout that has begun',
    status: 409,
    request: (known) => ({ params: payoutOf(known, 'a bank account payout_token') }),
  },
];
