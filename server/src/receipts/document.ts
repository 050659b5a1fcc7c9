import { findCountry } from '../core/country.ts';
import { describeNetwork } from '../core/networks.ts';
import {
  cleanText,
  formatTime,
  groupDigits,
  padToScale,
  type ReceiptText,
  shapeText,
  timeParts,
} from './texts.ts';

/**
 * The data of a receipt. Amounts and the rate are exact decimal texts, times UTC ISO 8601 texts;
 * what is absent is ''.
 */
export type ReceiptData = {
  /** A staging receipt says that no money moved. */
  environment: 'staging' | 'live';
  payoutToken: string;
  clientTransferId: string;
  status: string;
  statusReason: string;
  senderName: string;
  /** `color` as #rrggbb; `logo`: a PNG, Base64. */
  brand: { color: string; logo: string };
  /** In the order of its culture. */
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
  /** In the source currency; '' while the payout is not canceled. */
  refundAmount: string;
  destinationAmount: string;
  /** In the destination currency: what came back after completion; '' for nothing. */
  returnedAmount: string;
  exchangeRate: string;
  midRate: string;
  margin: string;
  sourceCurrency: string;
  destinationCurrency: string;
  createdOn: string;
  committedOn: string;
  completedOn: string;
  canceledOn: string;
  expiresOn: string;
  estimatedAvailability: string;
  pickupCode: string;
  /** The chain. */
  network: string;
  railReference: string;
  transactionHash: string;
  issuedOn: string;
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
  headline: { label: string; number: string; currency: string };
  /** The code with which the recipient collects, in groups of four; '' when there is none to use. */
  pickupCode: string;
  brand: { color: string; logo: string };
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

const addressLinesMax = 8;
const destinationRowsMax = 24;
const quoteStatus = { name: 'Not committed', tone: 'open' } as const;

const statusNames: Readonly<Record<string, { name: string; tone: 'done' | 'open' | 'stopped' }>> = {
  SCHEDULED: { name: 'Scheduled', tone: 'open' },
  PROCESSING: { name: 'Processing', tone: 'open' },
  HOLD: { name: 'On hold', tone: 'open' },
  READY_FOR_PICKUP: { name: 'Ready for pickup', tone: 'open' },
  COMPLETED: { name: 'Completed', tone: 'done' },
  CANCELLED: { name: 'Canceled', tone: 'stopped' },
  ERROR: { name: 'Error', tone: 'stopped' },
};

export const deliveryTypeNames: Readonly<Record<string, string>> = {
  CASH_PICKUP: 'Cash pickup',
  BANK_DEPOSIT: 'Bank deposit',
  HOME_DELIVERY: 'Home delivery',
  MOBILE_WALLET: 'Mobile wallet',
  PAPER_CHECK: 'Paper check',
  BILL: 'Bill payment',
  CRYPTOCURRENCY: 'Cryptocurrency',
};

/** A payout in ERROR or canceled is no receipt: its recipient has received nothing. */
const titles: Readonly<Record<string, string>> = {
  PENDING: 'Payout quote',
  SCHEDULED: 'Scheduled payout',
  ERROR: 'Payout status',
  CANCELLED: 'Payout cancellation',
};

/** Turns a payout's data into the texts of its receipt. Never throws, regardless of the texts. */
export function composeReceipt(data: ReceiptData): ReceiptDocument {
  const title = titles[data.status] ?? 'Payout receipt';
  const pickupCode = isCollectable(data) ? data.pickupCode.replaceAll(/(.{4})(?=.)/g, '$1 ') : '';
  return {
    title,
    documentTitle: `${title} ${cleanText(data.payoutToken)}`.trim(),
    isTest: data.environment === 'staging',
    status: composeStatus(data),
    headline: composeHeadline(data),
    pickupCode: cleanText(pickupCode),
    brand: data.brand,
    sender: shapeText(data.senderName),
    recipient: {
      name: shapeText(data.recipientName),
      lines: recipientLines(data),
    },
    amounts: composeAmounts(data),
    exchangeRate: `1 ${cleanText(data.sourceCurrency)} = ${groupDigits(data.exchangeRate)} ${cleanText(data.destinationCurrency)}`,
    delivery: composeDelivery(data),
    dates: composeDates(data),
    references: rowsOf([
      ['Payout', data.payoutToken],
      ['Client transfer ID', data.clientTransferId],
      ['Recipient ID', data.internalUserId],
      ['Transaction hash', data.transactionHash],
      ["Payer's reference", data.transactionHash === '' ? data.railReference : ''],
    ]),
    issued: { text: formatTime(data.issuedOn), parts: timeParts(data.issuedOn) },
    hanRegion: chooseHanRegion(data),
  };
}

function composeStatus(data: ReceiptData): ReceiptDocument['status'] {
  const { status, statusReason } = data;
  if (status === 'PENDING') {
    const isExpired = Date.parse(data.issuedOn) >= Date.parse(data.expiresOn);
    const named = isExpired ? ({ name: 'Expired', tone: 'stopped' } as const) : quoteStatus;
    const expiry = formatTime(data.expiresOn);
    return { ...named, reason: expiry === '' ? null : shapeText(`Valid until ${expiry}`) };
  }
  const named = statusNames[status] ?? { name: cleanText(status), tone: 'open' as const };
  return { ...named, reason: statusReason === '' ? null : shapeText(statusReason) };
}

/** Until then the pickup code is what its reader looks for; a payer that refused gives nothing for it. */
function isCollectable({ status }: ReceiptData): boolean {
  return !['COMPLETED', 'CANCELLED', 'ERROR'].includes(status);
}

/** Canceled before it ran: there is nothing to give back. */
function isUnpaid({ status, refundAmount }: ReceiptData): boolean {
  return status === 'CANCELLED' && refundAmount === '';
}

function composeHeadline(data: ReceiptData): ReceiptDocument['headline'] {
  const isRefund = data.status === 'CANCELLED' && !isUnpaid(data);
  const amount = isRefund ? data.refundAmount : data.destinationAmount;
  const currency = isRefund ? data.sourceCurrency : data.destinationCurrency;
  return {
    label: isRefund ? 'Refunded' : 'Amount to recipient',
    number: groupDigits(padToScale(amount, currency)),
    currency: cleanText(currency),
  };
}

function composeDates(data: ReceiptData): ReceiptRow[] {
  return rowsOf([
    ['Created', formatTime(data.createdOn)],
    ['Committed', formatTime(data.committedOn)],
    ['Completed', formatTime(data.completedOn)],
    [isUnpaid(data) ? 'Canceled' : 'Canceled and refunded', formatTime(data.canceledOn)],
    ['Estimated availability', isCollectable(data) ? formatTime(data.estimatedAvailability) : ''],
  ]);
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
    ['Network', describeNetwork(data.network)],
    ['Pickup code', isCollectable(data) ? '' : data.pickupCode],
  ]);
}

/** Leaves out rows with an empty value. */
function rowsOf(rows: [label: string, value: string][]): ReceiptRow[] {
  return rows
    .filter(([, value]) => value !== '')
    .map(([label, value]) => ({ label: shapeText(label), value: shapeText(value) }));
}

const otherTexts = {
  source: 'Amount sent',
  total: 'Total debited',
  destination: 'Amount to recipient',
};
const plannedTexts: typeof otherTexts = {
  source: 'Amount to send',
  total: 'Total to debit',
  destination: 'Amount to recipient',
};

const amountTexts: Readonly<Record<string, typeof otherTexts | undefined>> = {
  PENDING: plannedTexts,
  SCHEDULED: plannedTexts,
  CANCELLED: { source: 'Amount', total: 'Refunded', destination: 'Amount to recipient, canceled' },
  ERROR: { source: 'Amount', total: 'Total debited', destination: 'Amount to recipient, not sent' },
};

/** The recipient has the rest. */
function isReturnedInPart({ returnedAmount, destinationAmount }: ReceiptData): boolean {
  return returnedAmount !== '' && returnedAmount !== destinationAmount;
}

function chooseAmountTexts(data: ReceiptData): typeof otherTexts {
  const usual = amountTexts[data.status] ?? otherTexts;
  if (isUnpaid(data)) return { ...usual, total: otherTexts.total };
  return isReturnedInPart(data) ? { ...usual, destination: otherTexts.destination } : usual;
}

function composeAmounts(data: ReceiptData): ReceiptAmount[] {
  const { sourceCurrency, destinationCurrency } = data;
  const texts = chooseAmountTexts(data);
  const refundedOn = data.canceledOn === '' || isUnpaid(data) ? '' : data.canceledOn.slice(0, 10);
  const rows = [
    { label: texts.source, amount: data.sourceAmount, currency: sourceCurrency },
    { label: 'Fee', amount: data.fee, currency: sourceCurrency },
    {
      label: `${texts.total}${refundedOn === '' ? '' : ` on ${refundedOn}`}`,
      amount: refundedOn === '' ? data.totalDebited : data.refundAmount,
      currency: sourceCurrency,
      isTotal: true,
    },
    { label: texts.destination, amount: data.destinationAmount, currency: destinationCurrency },
    ...(isReturnedInPart(data)
      ? [
          {
            label: 'Of this, returned',
            amount: data.returnedAmount,
            currency: destinationCurrency,
          },
        ]
      : []),
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
