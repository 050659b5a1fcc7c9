import anyAscii from 'any-ascii';
import { findCountry } from '../core/country.ts';
import { findCurrency } from '../core/currency.ts';

/** The data of a receipt. Amounts and the rate are exact decimal texts, times UTC ISO 8601 texts. */
export type ReceiptData = {
  /** A staging receipt says that no money moved. */
  environment: 'staging' | 'live';
  payoutToken: string;
  clientTransferId: string;
  status: string;
  statusReason: string;
  senderName: string;
  recipientName: string;
  recipientAddressLines: string[];
  internalUserId: string;
  countryName: string;
  deliveryType: string;
  payerName: string;
  /** Masked by the caller. */
  destination: { label: string; value: string }[];
  sourceAmount: string;
  fee: string;
  totalDebited: string;
  destinationAmount: string;
  exchangeRate: string;
  sourceCurrency: string;
  destinationCurrency: string;
  createdOn: string;
  committedOn: string;
  completedOn: string;
  estimatedAvailability: string;
  pickupCode: string;
  issuedOn: string;
};

/** One text of the page, with the base direction of its paragraph (UAX 9, rules P2 and P3). */
export type ReceiptText = {
  text: string;
  direction: 'ltr' | 'rtl';
  /** Parts without a line break opportunity that may be wider than a column. */
  longWords: string[];
};

export type ReceiptRow = { label: ReceiptText; value: ReceiptText };

/** The number without its currency; `missing` are the digits that align its decimal point. */
export type ReceiptAmount = {
  label: string;
  number: string;
  missing: string;
  currency: string;
  isTotal: boolean;
};

export type HanRegion = 'sc' | 'tc' | 'jp' | 'kr';

/** The texts of the page, which the template only places. */
export type ReceiptDocument = {
  /** The page's heading. */
  title: string;
  /** The title in the file's metadata, unique in a list of files. */
  documentTitle: string;
  isTest: boolean;
  status: { name: string; tone: 'done' | 'open' | 'stopped'; reason: ReceiptText | null };
  headline: { number: string; currency: string };
  sender: ReceiptText;
  recipient: { name: ReceiptText; lines: ReceiptText[] };
  amounts: ReceiptAmount[];
  exchangeRate: string;
  delivery: ReceiptRow[];
  dates: ReceiptRow[];
  references: ReceiptRow[];
  issued: { text: string; parts: number[] | null };
  /** The region whose forms of Han characters are preferred. */
  hanRegion: HanRegion;
};

/** Longer values are cut with an ellipsis. Fields of the API are much shorter. */
const valueCharactersMax = 300;
const addressLinesMax = 8;
const destinationRowsMax = 24;
/** A shorter part fits every column at the ordinary size, whatever its letters. */
const longWordCharactersMin = 18;

const statusNames: Readonly<Record<string, { name: string; tone: 'done' | 'open' | 'stopped' }>> = {
  PENDING: { name: 'Not committed', tone: 'open' },
  SCHEDULED: { name: 'Scheduled', tone: 'open' },
  PROCESSING: { name: 'Processing', tone: 'open' },
  HOLD: { name: 'On hold', tone: 'open' },
  READY_FOR_PICKUP: { name: 'Ready for pickup', tone: 'open' },
  COMPLETED: { name: 'Completed', tone: 'done' },
  CANCELLED: { name: 'Cancelled', tone: 'stopped' },
  ERROR: { name: 'Error', tone: 'stopped' },
};

const deliveryTypeNames: Readonly<Record<string, string>> = {
  CASH_PICKUP: 'Cash pickup',
  BANK_DEPOSIT: 'Bank deposit',
  HOME_DELIVERY: 'Home delivery',
  MOBILE_WALLET: 'Mobile wallet',
  PAPER_CHECK: 'Paper check',
  BILL: 'Bill payment',
  CRYPTOCURRENCY: 'Cryptocurrency',
};

/** Turns a payout's data into the texts of its receipt. Never throws, whatever the texts. */
export function composeReceipt(data: ReceiptData): ReceiptDocument {
  const status = statusNames[data.status] ?? {
    name: cleanText(data.status),
    tone: 'open' as const,
  };
  const title = data.status === 'PENDING' ? 'Payout quote' : 'Payout receipt';
  return {
    title,
    documentTitle: `${title} ${cleanText(data.payoutToken)}`.trim(),
    isTest: data.environment === 'staging',
    status: { ...status, reason: data.statusReason === '' ? null : shapeText(data.statusReason) },
    headline: {
      number: groupDigits(padToScale(data.destinationAmount, data.destinationCurrency)),
      currency: cleanText(data.destinationCurrency),
    },
    sender: shapeText(data.senderName),
    recipient: {
      name: shapeText(data.recipientName),
      lines: recipientLines(data),
    },
    amounts: composeAmounts(data),
    exchangeRate: `1 ${cleanText(data.sourceCurrency)} = ${groupDigits(data.exchangeRate)} ${cleanText(data.destinationCurrency)}`,
    delivery: composeDelivery(data),
    dates: rowsOf([
      ['Created', formatTime(data.createdOn)],
      ['Committed', formatTime(data.committedOn)],
      ['Completed', formatTime(data.completedOn)],
      ['Estimated availability', formatTime(data.estimatedAvailability)],
    ]),
    references: rowsOf([
      ['Payout', data.payoutToken],
      ['Client transfer ID', data.clientTransferId],
      ['Recipient ID', data.internalUserId],
    ]),
    issued: { text: formatTime(data.issuedOn), parts: timeParts(data.issuedOn) },
    hanRegion: chooseHanRegion(data),
  };
}

function recipientLines(data: ReceiptData): ReceiptText[] {
  const lines = data.recipientAddressLines.filter((line) => line !== '');
  return lines.slice(0, addressLinesMax).map(shapeText);
}

function composeDelivery(data: ReceiptData): ReceiptRow[] {
  const attributes = data.destination.slice(0, destinationRowsMax);
  return rowsOf([
    ['Method', deliveryTypeNames[data.deliveryType] ?? data.deliveryType],
    ['Country', data.countryName],
    ['Paid out by', data.payerName],
    ...attributes.map(({ label, value }): [string, string] => [label, value]),
    ['Pickup code', data.pickupCode],
  ]);
}

/** Leaves out rows with an empty value. */
function rowsOf(rows: [label: string, value: string][]): ReceiptRow[] {
  return rows
    .filter(([, value]) => value !== '')
    .map(([label, value]) => ({ label: shapeText(label), value: shapeText(value) }));
}

function composeAmounts(data: ReceiptData): ReceiptAmount[] {
  const isQuote = data.status === 'PENDING';
  const { sourceCurrency, destinationCurrency } = data;
  const rows = [
    {
      label: isQuote ? 'Amount to send' : 'Amount sent',
      amount: data.sourceAmount,
      currency: sourceCurrency,
    },
    { label: 'Fee', amount: data.fee, currency: sourceCurrency },
    {
      label: isQuote ? 'Total to debit' : 'Total debited',
      amount: data.totalDebited,
      currency: sourceCurrency,
      isTotal: true,
    },
    { label: 'Amount to recipient', amount: data.destinationAmount, currency: destinationCurrency },
  ];
  const numbers = rows.map((row) => groupDigits(padToScale(row.amount, row.currency)));
  const fractions = numbers.map((number) => fractionOf(number));
  const longest = fractions.reduce((a, b) => (b.length > a.length ? b : a), '');
  return rows.map((row, index) => ({
    label: row.label,
    number: numbers[index] ?? '',
    missing: longest.slice(fractions[index]?.length ?? 0),
    currency: cleanText(row.currency),
    isTotal: row.isTotal === true,
  }));
}

function fractionOf(number: string): string {
  const point = number.indexOf('.');
  return point === -1 ? '' : number.slice(point);
}

/** National currencies show all their minor digits (200 USD as 200.00). */
export function padToScale(amount: string, currencyCode: string): string {
  const currency = findCurrency(currencyCode);
  const match = /^(-?\d+)(?:\.(\d+))?$/.exec(amount);
  if (match === null || currency === undefined || currency.isCrypto || currency.scale === 0) {
    return amount;
  }
  return `${match[1]}.${(match[2] ?? '').padEnd(currency.scale, '0')}`;
}

/** Groups the integer digits by three with commas, on the text, so that no digit is lost. */
export function groupDigits(amount: string): string {
  const match = /^(-?)(\d+)(\.\d+)?$/.exec(amount);
  if (match === null) return cleanText(amount);
  const grouped = (match[2] ?? '').replace(/\B(?=(?:\d{3})+$)/g, ',');
  return `${match[1]}${grouped}${match[3] ?? ''}`;
}

const timePattern =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(?:Z|\+00:00)?$/;

function formatTime(time: string): string {
  const match = timePattern.exec(time);
  if (match === null) return time;
  const [, year, month, day, hour, minute, second] = match;
  return `${year}-${month}-${day} ${hour}:${minute}:${second ?? '00'} UTC`;
}

function timeParts(time: string): number[] | null {
  const match = timePattern.exec(time);
  if (match === null || Number.isNaN(Date.parse(time))) return null;
  return match.slice(1, 7).map((part) => Number(part ?? '0'));
}

function shapeText(value: string): ReceiptText {
  const text = cleanText(value);
  return { text, direction: baseDirection(text), longWords: findLongWords(text) };
}

/**
 * Makes a text safe to place: well-formed, composed, on one line. Removes explicit directional
 * formatting (UAX 9, section 2), which could reorder an account number; keeps the joiners of Persian
 * and Indic names and the two directional marks.
 */
function cleanText(value: string): string {
  const text = value
    .toWellFormed()
    .normalize('NFC')
    .replace(/[\u202a-\u202e\u2066-\u2069\u206a-\u206f]/g, '')
    .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
    .replace(/[\p{Noncharacter_Code_Point}\p{Co}]/gu, '\ufffd')
    .trim();
  const characters = Array.from(text);
  if (characters.length <= valueCharactersMax) return text;
  return `${characters.slice(0, valueCharactersMax - 1).join('')}…`;
}

const strongPattern = /\p{L}|\u200e|\u200f/u;
const rightToLeftPattern =
  /[\u200f\p{sc=Hebrew}\p{sc=Arabic}\p{sc=Syriac}\p{sc=Thaana}\p{sc=Nko}\p{sc=Adlam}\p{sc=Samaritan}\p{sc=Mandaic}\p{sc=Hanifi_Rohingya}]/u;

function baseDirection(text: string): 'ltr' | 'rtl' {
  const strong = strongPattern.exec(text)?.[0];
  return strong !== undefined && rightToLeftPattern.test(strong) ? 'rtl' : 'ltr';
}

/** Scripts without spaces break between characters or by dictionary, so they are excluded. */
const unbrokenPattern = new RegExp(
  '[^\\s\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}]' +
    `{${longWordCharactersMin},}`,
  'gu',
);

function findLongWords(text: string): string[] {
  return [...new Set(text.match(unbrokenPattern) ?? [])];
}

const countriesByRegion: Readonly<Record<HanRegion, readonly string[]>> = {
  jp: ['JPN'],
  kr: ['KOR', 'PRK'],
  tc: ['TWN', 'HKG', 'MAC'],
  sc: ['CHN', 'SGP'],
};

const regionByCountryName = new Map<string, HanRegion>();
for (const region of ['jp', 'kr', 'tc', 'sc'] as const) {
  for (const code of countriesByRegion[region]) {
    const country = findCountry(code);
    if (country !== undefined) regionByCountryName.set(country.name, region);
  }
}

/** By country, or else by other scripts in the text. */
function chooseHanRegion(data: ReceiptData): HanRegion {
  const region = regionByCountryName.get(data.countryName);
  if (region !== undefined) return region;
  const text = [data.recipientName, ...data.recipientAddressLines, data.senderName].join(' ');
  if (/[\p{sc=Hiragana}\p{sc=Katakana}]/u.test(text)) return 'jp';
  if (/\p{sc=Hangul}/u.test(text)) return 'kr';
  return /\p{sc=Bopomofo}/u.test(text) ? 'tc' : 'sc';
}

/** Changes every text of a value, at any depth. */
export function mapTexts<Value>(value: Value, change: (text: string) => string): Value {
  return JSON.parse(JSON.stringify(value), (_key, member: unknown) =>
    typeof member === 'string' ? change(member) : member,
  ) as Value;
}

/** Scripts without a base font; with the digits and punctuation that Arabic and East Asia share. */
const otherScripts =
  /(?:[^\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Devanagari}\p{sc=Common}\p{sc=Inherited}]|[\u0600-\u06ff\u3000-\u30ff\uff01-\uff9f])+/gu;

/** Writes other scripts in Latin letters, for receipts without their fonts. */
export function transliterate(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(otherScripts, (part) =>
      anyAscii(part.replaceAll(/[\p{sc=Han}\p{sc=Hangul}]/gu, '$& ')).trim(),
    );
}
