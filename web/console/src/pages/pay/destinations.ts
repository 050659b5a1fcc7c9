import type { Schemas } from '../../api/client.ts';
import type { Exact } from '../../format/amount.ts';
import { readTime } from '../../format/time.ts';

type CountryLookup = Schemas['CountryLookup'];

/** One way to pay: a payer, how it delivers, and one of its currencies. */
export type Offer = {
  key: string;
  token: string;
  payerName: string;
  companyName: string;
  delivery: string;
  accountForm: string;
  currency: string;
  /** The chain of a token; "" for other currencies. */
  network: string;
  arrives: Exact;
  fee: Exact;
  totalDebit: Exact;
  rate: Exact;
  rating: number;
  availableAt: string;
  note: string;
  isOutOfLimits: boolean;
};

export type Choice = { offer: Offer; amount: string; sourceCurrency: string; country: string };

/** Every offer of a look-up, those of a currency together, the one that brings most first. */
export function listOffers(lookup: CountryLookup): Offer[] {
  const offers = lookup.companies.flatMap((company) =>
    company.services.flatMap((service) =>
      service.payers.flatMap((payer) =>
        payer.exchange_rate.map(
          (rate): Offer => ({
            key: `${payer.destination_token}:${rate.currency_symbol}`,
            token: payer.destination_token,
            payerName: payer.payer_name,
            companyName: company.company_name,
            delivery: service.delivery_type,
            accountForm: payer.account_form,
            currency: rate.currency_symbol,
            network: rate.network,
            arrives: rate.destination_amount,
            fee: payer.fee,
            totalDebit: payer.total_debit,
            rate: rate.exchange_rate,
            rating: Number(company.rating.toString()),
            availableAt: payer.estimated_availability,
            note: payer.additional_description,
            isOutOfLimits: isOutOfLimits(payer),
          }),
        ),
      ),
    ),
  );
  return offers.toSorted(
    (one, other) =>
      one.currency.localeCompare(other.currency) ||
      toNumber(one.totalDebit) - toNumber(other.totalDebit) ||
      toNumber(other.arrives) - toNumber(one.arrives),
  );
}

type Payer = CountryLookup['companies'][number]['services'][number]['payers'][number];

function isOutOfLimits({ source_amount: amount, min_limit: min, max_limit: max }: Payer): boolean {
  const [value, least, most] = [toNumber(amount), toNumber(min), toNumber(max)];
  return value < least || (most > 0 && value > most);
}

/** Only for comparing: amounts are shown and sent as their digits. */
function toNumber(value: Exact): number {
  return Number(value.toString());
}

/** The keys of the cheapest per unit that arrives, and of the fastest, among offers of one currency. */
export function findBest(offers: readonly Offer[]): { cheapest: string; fastest: string } {
  const payable = offers.filter(({ isOutOfLimits: isOut }) => !isOut);
  const price = (offer: Offer): number => toNumber(offer.totalDebit) / toNumber(offer.arrives);
  const time = (offer: Offer): number => readTime(offer.availableAt)?.getTime() ?? Infinity;
  const best = (measure: (offer: Offer) => number): string =>
    payable.toSorted((one, other) => measure(one) - measure(other))[0]?.key ?? '';
  return { cheapest: best(price), fastest: best(time) };
}
