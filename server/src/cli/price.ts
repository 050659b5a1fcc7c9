import { formatRate } from '../core/rate.ts';
import { findExpiryMs } from '../fx/load.ts';
import type { PayerDeclaration, Tariff } from '../rails/contract/declarations.ts';
import { defineCommand } from './command.ts';
import { getRates, openRails } from './context.ts';
import { country, deliveryType, rail } from './options.ts';

/** What payouts are priced from: exchange rates and the tariffs of payers. */

export const priceCommands = [
  defineCommand({
    name: 'rates list',
    permission: 'read',
    about: 'list the newest exchange rate of each pair and source, and until when it is used',
    options: {},
    run: async (context) => {
      const { clock, name } = context;
      const rates = await getRates(context);
      await rates.refresh();
      return rates.quotes().map((quote) => {
        const expiresAtMs = findExpiryMs(quote, name);
        return {
          base: quote.base,
          quote: quote.quote,
          rate: formatRate(quote.rate),
          source: quote.source,
          as_of: new Date(quote.asOfMs),
          expires_at: expiresAtMs === undefined ? null : new Date(expiresAtMs),
          is_usable: expiresAtMs === undefined || clock.nowMs() <= expiresAtMs,
        };
      });
    },
  }),
  defineCommand({
    name: 'tariff list',
    permission: 'read',
    about: 'list fees, margins and limits of the payers of a country, now and as announced',
    options: { country, deliveryType: deliveryType.optional(), rail: rail.optional() },
    run: async (context, { country: code, deliveryType: type, rail: railName }) => {
      await using opened = await openRails(context);
      const nowMs = context.clock.nowMs();
      return opened.rails
        .filter(({ name }) => railName === undefined || name === railName)
        .flatMap(({ name, payers }) =>
          payers
            .filter(
              (payer) =>
                payer.countryCode === code && (type === undefined || payer.deliveryType === type),
            )
            .map((payer) => describePayer(name, payer, nowMs)),
        );
    },
  }),
];

function describePayer(railName: string, payer: PayerDeclaration, nowMs: number) {
  return {
    rail: railName,
    payer_key: payer.key,
    payer_name: payer.payerName,
    country: payer.countryCode,
    delivery_type: payer.deliveryType,
    currencies: payer.currencies,
    tariffs: dropPast(payer.tariffs, nowMs).map(describeTariff),
  };
}

const startMs = ({ effectiveFrom }: Tariff): number =>
  effectiveFrom === null ? Number.NEGATIVE_INFINITY : Date.parse(effectiveFrom);

/** The tariff in effect, and those after it. They are ascending. */
function dropPast(tariffs: readonly Tariff[], nowMs: number): readonly Tariff[] {
  return tariffs.slice(
    Math.max(
      0,
      tariffs.findLastIndex((tariff) => startMs(tariff) <= nowMs),
    ),
  );
}

function describeTariff(tariff: Tariff) {
  return {
    effective_from: tariff.effectiveFrom,
    fee: tariff.fee.map(({ upTo, fixed, basisPoints }) => ({
      up_to: upTo,
      fixed,
      basis_points: basisPoints,
    })),
    margin_basis_points: tariff.marginBasisPoints,
    agreed_rates: Object.entries(tariff.rates).map(([pair, rate]) => ({ pair, rate })),
    min_limit: tariff.minLimit,
    max_limit: tariff.maxLimit,
  };
}
