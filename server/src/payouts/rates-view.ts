import { JsonNumber } from '../core/exact-json.ts';
import { formatMargin, getRate } from '../core/rate.ts';
import { amountAnswer } from '../http/schema.ts';

/** The rates of a quote, as a payout and a row of a batch show them. */

export const rateFields = {
  exchange_rate: amountAnswer,
  mid_rate: amountAnswer.describe(
    'The market rate at which it was quoted; 1 within one currency. Equal to exchange_rate where ' +
      'only a rate agreed with the payer is known',
  ),
  margin: amountAnswer.describe(
    'The FX margin: 1 - exchange_rate / mid_rate, rounded to six digits; 0.004 is 40 basis ' +
      'points. Negative if the rate is better than the mid rate',
  ),
};

export function writeRates(row: { exchange_rate: string; mid_rate: string }) {
  return {
    exchange_rate: new JsonNumber(row.exchange_rate),
    mid_rate: new JsonNumber(row.mid_rate),
    margin: new JsonNumber(formatMargin(getRate(row.exchange_rate), getRate(row.mid_rate))),
  };
}
