import { z } from 'zod';
import { count, defineOperation, list, optionalText, text, toList, yes } from './operation.ts';

/** What payouts are priced from: exchange rates and tariffs. */

const rate = z
  .object({
    base: text('The currency that is priced'),
    quote: text('The currency of the price'),
    rate: text('Units of `quote` for one `base`, decimal, without margin'),
    source: text('Where it comes from: ecb, crypto or table; in staging also the bundled table'),
    as_of: text('The time of the rate, UTC'),
    expires_at: optionalText('Until when it is used, UTC; null in staging, where none expires'),
    is_usable: yes('False: live refuses quotes that need it'),
  })
  .meta({ id: 'ExchangeRate' });

const feeStep = z
  .object({
    up_to: optionalText('Amounts up to and including this, USD; null: any'),
    fixed: text('USD, decimal'),
    basis_points: z.number().describe('Hundredths of a percent of the amount'),
  })
  .meta({ id: 'TariffFeeStep' });

const tariff = z
  .object({
    effective_from: optionalText('From when on, UTC; null: from the beginning'),
    fee: z.array(feeStep).describe('Ascending in `up_to`'),
    margin_basis_points: count('Taken from the mid rate, hundredths of a percent'),
    agreed_rates: z
      .array(z.object({ pair: text('As USD/EUR'), rate: text('Decimal') }))
      .describe('All-in rates, which replace mid rate and margin'),
    min_limit: text('USD; 0: no limit'),
    max_limit: text('USD; 0: no limit'),
  })
  .meta({ id: 'Tariff' });

const payerTariffs = z
  .object({
    rail: text('The rail'),
    payer_key: text('The payer, as the rail names it'),
    payer_name: text('Its name'),
    country: text('Alpha-3 code'),
    delivery_type: text('How it pays'),
    currencies: z.array(z.string()).describe('What it pays out'),
    tariffs: z.array(tariff).describe('The one in effect, and those after it'),
  })
  .meta({ id: 'PayerTariffs' });

export const priceOperations = () => [
  defineOperation({
    command: 'rates list',
    method: 'GET',
    path: '/operator/rates',
    operationId: 'listExchangeRates',
    summary: 'List the newest exchange rate of each pair and source',
    result: list(rate, 'By pair and source').meta({ id: 'ExchangeRates' }),
    shape: toList,
  }),
  defineOperation({
    command: 'tariff list',
    method: 'GET',
    path: '/operator/tariffs',
    operationId: 'listTariffs',
    summary: 'List fees, margins and limits of the payers of a country',
    result: list(payerTariffs, 'By rail, as they are declared').meta({ id: 'Tariffs' }),
    shape: toList,
  }),
];
