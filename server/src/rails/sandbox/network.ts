import { type Country, listCountries } from '../../core/country.ts';
import type {
  AvailabilityRule,
  CompanyDeclaration,
  DeliveryType,
  PayerDeclaration,
} from '../contract/declarations.ts';
import {
  alwaysVerified,
  appWallets,
  billPayment,
  cashLocations,
  dollarAccounts,
  getShopWeekend,
  getWeekend,
  homeDelivery,
  instantClearing,
  mainCorridors,
  paperCheck,
  remoteCorridors,
  shortRateLock,
  walletLocations,
} from './network-data.ts';
import logos from './network-logos.json' with { type: 'json' };
import { type CorridorClass, getTariffs, type TariffName } from './network-tariffs.ts';

type LogoName = keyof typeof logos;

const companies = {
  meridian: ['Meridian Pay', 'bank deposits, cash and mobile wallets for the usual amounts'],
  kestrel: ['Kestrel Transfer', 'small amounts at once'],
  harbour: ['Harbour Remit', 'large amounts at close to the mid-market rate'],
  fernway: ['Fernway Direct', 'savings banks, wallets and bills at tiered prices'],
  plaza: ['Plaza Cash Network', 'cash at shops and post counters'],
  tamarind: ['Tamarind Mobile', 'mobile wallets'],
  blockline: ['Blockline', 'small cryptocurrency payouts'],
  northgate: ['Northgate Chain', 'large cryptocurrency payouts'],
  doorstep: ['Doorstep Courier', 'cash to the door and paper checks by mail'],
} as const;
type CompanyKey = keyof typeof companies;

export const sandboxCompanies: readonly CompanyDeclaration[] = Object.entries(companies).map(
  ([key, [name, purpose]]) => ({
    key,
    name,
    description: `An invented company of the simulated network: ${purpose}. No money moves.`,
    logo: logos[key as CompanyKey],
  }),
);

const cryptocurrencies = ['BTC', 'LTC', 'ETH', 'USDC'] as const;

/** How fast, with which calendar: `bank` rests with the banks, `shop` with the shops. */
type Speed = {
  readonly calendar: 'none' | 'bank' | 'shop';
  readonly cutOff: string | null;
  readonly delay: AvailabilityRule['delay'];
};

const speeds = {
  instant: { calendar: 'none', cutOff: null, delay: { minutes: 5 } },
  quarterHour: { calendar: 'none', cutOff: null, delay: { minutes: 15 } },
  halfHour: { calendar: 'none', cutOff: null, delay: { minutes: 30 } },
  shopHours: { calendar: 'shop', cutOff: '18:00', delay: { minutes: 30 } },
  postHours: { calendar: 'bank', cutOff: '17:00', delay: { minutes: 60 } },
  sameDay: { calendar: 'bank', cutOff: '12:00', delay: { businessDays: 0, arrival: '18:00' } },
  nextMorning: { calendar: 'bank', cutOff: '17:00', delay: { businessDays: 1, arrival: '10:00' } },
  nextDay: { calendar: 'bank', cutOff: '15:00', delay: { businessDays: 1, arrival: '12:00' } },
  twoDays: { calendar: 'bank', cutOff: '16:00', delay: { businessDays: 2, arrival: '17:00' } },
  courier: { calendar: 'shop', cutOff: '14:00', delay: { businessDays: 1, arrival: '18:00' } },
  letter: { calendar: 'bank', cutOff: '14:00', delay: { businessDays: 5, arrival: '17:00' } },
} as const satisfies Readonly<Record<string, Speed>>;
type SpeedName = keyof typeof speeds;

const notes = {
  account: 'Credited to an account in the name of the recipient.',
  dollarAccount: 'Credited to an account in the name of the recipient, in either currency.',
  cash: 'The recipient shows a valid identity document and the pickup code.',
  post: 'Paid at the counter within 30 days against a valid identity document and the pickup code.',
  wallet: 'Credited to the wallet of the mobile number; it has to be registered to the recipient.',
  home: 'A courier calls ahead and hands the cash to the recipient against an identity document.',
  check: 'A paper check in the name of the recipient is sent to the address by mail.',
  bill: 'Paid to the biller under the reference number on the bill.',
  chain: 'Sent to the wallet address once; a chain cannot call it back.',
} as const;

/** An offer of one company: what is common to all countries in which it is made. */
type Offer = {
  readonly company: CompanyKey;
  readonly kind: LogoName;
  readonly deliveryType: DeliveryType;
  /** The payer's name; the country's is added where the payer is a national one. */
  readonly payerName: string;
  readonly national: boolean;
  readonly tariff: TariffName;
  readonly speed: SpeedName;
  readonly note: keyof typeof notes;
  /** Percent of the country's places that the company reaches; 0: it has no places. */
  readonly reach: number;
  readonly isDynamicToken: boolean;
};

type Terms = Pick<Offer, 'tariff' | 'speed' | 'reach'> & { readonly isDynamicToken?: boolean };

/** The same payer reached through several companies at their own terms. */
function offerThrough(
  payer: Pick<Offer, 'kind' | 'deliveryType' | 'payerName' | 'national' | 'note'>,
  terms: Readonly<Partial<Record<CompanyKey, Terms>>>,
): readonly Offer[] {
  return Object.entries(terms).map(([company, term]) => ({
    isDynamicToken: false,
    ...payer,
    ...term,
    company: company as CompanyKey,
  }));
}

const nationalBank = {
  kind: 'bank',
  deliveryType: 'BANK_DEPOSIT',
  payerName: 'Sandbox National Bank',
  national: true,
  note: 'account',
} as const;

const bankOffers = offerThrough(nationalBank, {
  kestrel: { tariff: 'bankSmall', speed: 'nextMorning', reach: 60 },
  meridian: { tariff: 'bankUsual', speed: 'nextDay', reach: 100 },
  harbour: { tariff: 'bankLarge', speed: 'twoDays', reach: 100 },
});

const instantBankOffers = offerThrough(nationalBank, {
  kestrel: { tariff: 'bankSmall', speed: 'instant', reach: 60 },
  meridian: { tariff: 'bankUsual', speed: 'nextDay', reach: 100 },
  harbour: { tariff: 'bankLarge', speed: 'twoDays', reach: 100 },
});

const savingsBankOffers = offerThrough(
  { ...nationalBank, kind: 'savings', payerName: 'Sandbox Savings Bank' },
  {
    fernway: { tariff: 'bankTiers', speed: 'sameDay', reach: 50, isDynamicToken: true },
    meridian: { tariff: 'bankSavings', speed: 'nextDay', reach: 40 },
  },
);

const cashOffers = [
  ...offerThrough(
    {
      kind: 'cash',
      deliveryType: 'CASH_PICKUP',
      payerName: 'Sandbox Cash Points',
      national: true,
      note: 'cash',
    },
    {
      plaza: { tariff: 'cashUsual', speed: 'quarterHour', reach: 100, isDynamicToken: true },
      meridian: { tariff: 'cashLarge', speed: 'shopHours', reach: 60 },
      kestrel: { tariff: 'cashSmall', speed: 'quarterHour', reach: 25 },
    },
  ),
  ...offerThrough(
    {
      kind: 'post',
      deliveryType: 'CASH_PICKUP',
      payerName: 'Sandbox Post Counters',
      national: true,
      note: 'post',
    },
    {
      plaza: { tariff: 'postUsual', speed: 'postHours', reach: 35 },
      harbour: { tariff: 'postLarge', speed: 'postHours', reach: 30 },
    },
  ),
];

const walletOffers = offerThrough(
  {
    kind: 'wallet',
    deliveryType: 'MOBILE_WALLET',
    payerName: 'Sandbox Mobile Money',
    national: true,
    note: 'wallet',
  },
  {
    tamarind: { tariff: 'walletSmall', speed: 'instant', reach: 100 },
    meridian: { tariff: 'walletUsual', speed: 'quarterHour', reach: 80 },
    fernway: { tariff: 'walletLarge', speed: 'quarterHour', reach: 45, isDynamicToken: true },
  },
);

const appWalletOffers = offerThrough(
  {
    kind: 'app',
    deliveryType: 'MOBILE_WALLET',
    payerName: 'Sandbox App Wallet',
    national: true,
    note: 'wallet',
  },
  {
    tamarind: { tariff: 'walletSmall', speed: 'instant', reach: 30 },
    kestrel: { tariff: 'walletUsual', speed: 'instant', reach: 30 },
  },
);

const homeOffers = offerThrough(
  {
    kind: 'home',
    deliveryType: 'HOME_DELIVERY',
    payerName: 'Sandbox Home Delivery',
    national: true,
    note: 'home',
  },
  {
    doorstep: { tariff: 'homeUsual', speed: 'courier', reach: 5 },
    plaza: { tariff: 'homeLarge', speed: 'courier', reach: 8 },
  },
);

const paperCheckOffers = offerThrough(
  {
    kind: 'check',
    deliveryType: 'PAPER_CHECK',
    payerName: 'Sandbox Paper Check by Mail',
    national: true,
    note: 'check',
  },
  {
    doorstep: { tariff: 'checkUsual', speed: 'letter', reach: 0 },
    harbour: { tariff: 'checkLarge', speed: 'letter', reach: 0 },
  },
);

const billOffers = offerThrough(
  {
    kind: 'bill',
    deliveryType: 'BILL',
    payerName: 'Sandbox Bill Desk',
    national: true,
    note: 'bill',
  },
  {
    fernway: { tariff: 'billUsual', speed: 'nextDay', reach: 0 },
    meridian: { tariff: 'billLarge', speed: 'sameDay', reach: 0 },
  },
);

const cryptoOffers = offerThrough(
  {
    kind: 'chain',
    deliveryType: 'CRYPTOCURRENCY',
    payerName: 'Sandbox Wallet Address',
    national: false,
    note: 'chain',
  },
  {
    blockline: { tariff: 'cryptoSmall', speed: 'quarterHour', reach: 0 },
    northgate: { tariff: 'cryptoLarge', speed: 'halfHour', reach: 0 },
  },
);

/** Branches of banks, by how large a corridor is. */
const branches: Readonly<Record<CorridorClass, number>> = { main: 3200, common: 420, remote: 12 };

/** What is the same for all payers of one country, made once. */
type Place = {
  readonly country: Country;
  readonly corridorClass: CorridorClass;
  readonly national: readonly string[];
  readonly withDollars: readonly string[];
  readonly rules: Map<SpeedName, AvailabilityRule>;
};

function createPlace(country: Country): Place {
  const { code, currency } = country;
  const national = [currency];
  const keepsDollars = dollarAccounts.has(code) && currency !== 'USD';
  const other = remoteCorridors.has(code) ? 'remote' : 'common';
  return {
    country,
    corridorClass: mainCorridors.has(code) ? 'main' : other,
    national,
    withDollars: keepsDollars ? [currency, 'USD'] : national,
    rules: new Map(),
  };
}

function listOffers(place: Place): readonly Offer[] {
  const { code } = place.country;
  const offers = [...(instantClearing.has(code) ? instantBankOffers : bankOffers)];
  if (place.corridorClass !== 'remote') offers.push(...savingsBankOffers);
  if (cashLocations.has(code)) offers.push(...cashOffers);
  if (walletLocations.has(code)) offers.push(...walletOffers);
  if (appWallets.has(code)) offers.push(...appWalletOffers);
  if (homeDelivery.has(code)) offers.push(...homeOffers);
  if (paperCheck.has(code)) offers.push(...paperCheckOffers);
  if (billPayment.has(code)) offers.push(...billOffers);
  return [...offers, ...cryptoOffers];
}

function getRule(place: Place, name: SpeedName): AvailabilityRule {
  const known = place.rules.get(name);
  if (known !== undefined) return known;
  const speed: Speed = speeds[name];
  const { code, alpha2, timeZone } = place.country;
  const weekends = { none: [], bank: getWeekend(code), shop: getShopWeekend(code) };
  const rule: AvailabilityRule = {
    timeZone,
    calendar: speed.calendar === 'none' ? null : alpha2,
    weekend: weekends[speed.calendar],
    cutOff: speed.cutOff,
    delay: speed.delay,
  };
  place.rules.set(name, rule);
  return rule;
}

function countLocations(place: Place, offer: Offer): number {
  if (offer.reach === 0) return 0;
  const { code } = place.country;
  const placesByType: Partial<Record<DeliveryType, number | undefined>> = {
    BANK_DEPOSIT: branches[place.corridorClass],
    CASH_PICKUP: cashLocations.get(code),
    MOBILE_WALLET: walletLocations.get(code),
    HOME_DELIVERY: cashLocations.get(code),
  };
  const places = placesByType[offer.deliveryType] ?? 0;
  return Math.max(1, Math.floor((places * offer.reach) / 100));
}

const never = { kind: 'never' } as const;
const always = { kind: 'always' } as const;
const aboveThousand = { kind: 'above', amount: '1000' } as const;

/** Cash changes hands only with people who are known: above 1,000 USD, in some countries always. */
function getVerification(place: Place, offer: Offer): PayerDeclaration['verification'] {
  const inCash = offer.deliveryType === 'CASH_PICKUP' || offer.deliveryType === 'HOME_DELIVERY';
  if (!inCash) return never;
  return alwaysVerified.has(place.country.code) ? always : aboveThousand;
}

function getCurrencies(place: Place, offer: Offer): readonly string[] {
  if (offer.deliveryType === 'CRYPTOCURRENCY') return cryptocurrencies;
  return offer.deliveryType === 'BANK_DEPOSIT' ? place.withDollars : place.national;
}

const noOptions = {};

function declarePayer(place: Place, offer: Offer): PayerDeclaration {
  const { code, name } = place.country;
  const currencies = getCurrencies(place, offer);
  const isDollarAccount = offer.note === 'account' && currencies.length > 1;
  const note = isDollarAccount ? notes.dollarAccount : notes[offer.note];
  return {
    key: `${code.toLowerCase()}-${offer.kind}-${offer.company}`,
    companyKey: offer.company,
    payerName: offer.national ? `${offer.payerName} ${name}` : offer.payerName,
    logo: logos[offer.kind],
    countryCode: code,
    deliveryType: offer.deliveryType,
    currencies,
    tariffs: getTariffs(offer.tariff, place.corridorClass),
    availability: getRule(place, offer.speed),
    numberOfLocations: countLocations(place, offer),
    additionalDescription: `${note} Simulated.`,
    isDynamicToken: offer.isDynamicToken,
    verification: getVerification(place, offer),
    rateLockSeconds:
      shortRateLock.has(code) && offer.deliveryType !== 'CRYPTOCURRENCY' ? 300 : null,
    options: noOptions,
  };
}

/**
 * Every payer of the simulated network: each country of ISO 3166-1 with bank deposits in its
 * currency and with cryptocurrency, and what else is really used there.
 */
export const sandboxPayers: readonly PayerDeclaration[] = listCountries().flatMap((country) => {
  const place = createPlace(country);
  return listOffers(place).map((offer) => declarePayer(place, offer));
});
