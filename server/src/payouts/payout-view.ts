import { z } from 'zod';
import { type AttributeValues, maskValues, openValues } from '../attributes/attribute-values.ts';
import {
  type AttributeType,
  type Corridor,
  describeUnlisted,
  getProfile,
} from '../attributes/requirements.ts';
import type { EnvironmentName } from '../core/access.ts';
import { formatSeconds, formatSecondsZ } from '../core/clock.ts';
import { getCountry } from '../core/country.ts';
import { type Currency, getCurrency } from '../core/currency.ts';
import { JsonNumber, parseExactObject } from '../core/exact-json.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import { openPickupCode } from '../core/pickup-code.ts';
import { findUserKey, type KeyRing } from '../core/sealing.ts';
import type { Catalog } from '../destinations/catalog.ts';
import { amountAnswer, objectAnswer } from '../http/schema.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { type DeliveryType, deliveryTypes } from '../rails/contract/declarations.ts';
import type { ReceiptData } from '../receipts/receipt.ts';
import { formatRecipientName } from '../receipts/recipient-name.ts';
import type { User } from '../users/users.ts';
import { openMetadata } from './payout-metadata.ts';
import { describePayoutReason, payoutReasonFields } from './payout-reason.ts';
import { payoutStatuses } from './payout-states.ts';
import type { PayoutRow } from './payouts.sql.ts';
import { getRefund, progressFields, writeProgress } from './progress-view.ts';
import { rateFields, writeRates } from './rates-view.ts';
import { findStoredCorridor } from './stored-corridor.ts';

/** A payout as an answer of the API, as a row of the history, and as the data of a receipt. */

const payoutFields = {
  payout_token: z.string(),
  user_token: z.string(),
  client_transfer_id: z.string(),
  source_currency_code: z.string(),
  destination_currency_code: z.string(),
  source_token: z.string(),
  destination_token: z.string(),
  source_amount: amountAnswer.describe('Leaves the balance, before the fee'),
  destination_amount: amountAnswer.describe('What the recipient gets'),
  attr_set_token: z.string(),
  ...rateFields,
  fee: amountAnswer.describe('In the source currency, on top of source_amount'),
  expiration: z.string().describe('UTC, without offset; a commit is in time before it'),
  pickup_code: z.string().describe('"" until the commit of a cash pickup'),
  status: z.enum(payoutStatuses),
  status_reason: z.string(),
  ...payoutReasonFields,
  payer_logo: z.string().describe('Base64 PNG; "" unless include_payer_logo is true'),
  payer_name: z.string(),
  delivery_type: z.enum(deliveryTypes),
  country_code: z.string(),
  metadata: objectAnswer,
  estimated_availability: z.string().describe('RFC 3339, UTC'),
  attrs: z.record(z.string(), z.string()).describe('Attribute type to value, numbers masked'),
  ...progressFields,
};

export const payoutAnswer = z.object(payoutFields).meta({ id: 'Payout' });

export const payoutPdfAnswer = z
  .object({ ...payoutFields, content: z.string().describe('Base64 PDF') })
  .meta({ id: 'PayoutWithPdf' });

export const historyAnswer = z
  .object({
    token: z.string(),
    type: z.enum(['payout']),
    time_of_txn: z.string().describe('UTC, without offset'),
    source_amount: amountAnswer,
    source_currency_code: z.string(),
    destination_amount: amountAnswer,
    destination_currency_code: z.string(),
    fee: amountAnswer,
    status: z.enum(payoutStatuses),
    status_reason: z.string(),
    ...payoutReasonFields,
    payer_name: z.string(),
    pickup_code: z.string(),
    source_token: z.string(),
    destination_token: z.string(),
    delivery_type: z.enum(deliveryTypes),
    client_transfer_id: z.string(),
    user_token: z.string(),
  })
  .meta({ id: 'HistoryRow' });

const amountOf = (minor: bigint, currency: Currency): JsonNumber =>
  new JsonNumber(formatAmount(minor, currency));

export function writePayout(
  row: PayoutRow,
  options: { keys: KeyRing; payerLogo: string; network: string },
) {
  const source = getCurrency(row.source_currency);
  const destination = getCurrency(row.destination_currency);
  return {
    payout_token: formatToken('payout', row.id),
    user_token: formatToken('user', row.user_id),
    client_transfer_id: row.client_transfer_id,
    source_currency_code: row.source_currency,
    destination_currency_code: row.destination_currency,
    source_token: row.source_token,
    destination_token: row.destination_token,
    source_amount: amountOf(row.source_amount, source),
    destination_amount: amountOf(row.destination_amount, destination),
    attr_set_token: row.attr_set_id === null ? '' : formatToken('attributeSet', row.attr_set_id),
    ...writeRates(row),
    fee: amountOf(row.fee, source),
    expiration: formatSeconds(row.expires_at),
    pickup_code: findPickupCode(row, options.keys),
    status: row.status,
    status_reason: row.status_reason,
    ...describePayoutReason(row),
    payer_logo: options.payerLogo,
    payer_name: row.payer_name,
    delivery_type: row.delivery_type,
    country_code: row.country,
    metadata: parseExactObject(readMetadata(row, options.keys)),
    estimated_availability: formatSecondsZ(row.estimated_availability),
    attrs: readAttrs(row, options.keys),
    ...writeProgress(row, options.network),
  };
}

export function writeHistoryRow(row: PayoutRow, keys: KeyRing) {
  const source = getCurrency(row.source_currency);
  return {
    token: formatToken('payout', row.id),
    type: 'payout',
    time_of_txn: formatSeconds(row.committed_at ?? row.created_at),
    source_amount: amountOf(row.source_amount, source),
    source_currency_code: row.source_currency,
    destination_amount: amountOf(row.destination_amount, getCurrency(row.destination_currency)),
    destination_currency_code: row.destination_currency,
    fee: amountOf(row.fee, source),
    status: row.status,
    status_reason: row.status_reason,
    ...describePayoutReason(row),
    payer_name: row.payer_name,
    pickup_code: findPickupCode(row, keys),
    source_token: row.source_token,
    destination_token: row.destination_token,
    delivery_type: row.delivery_type,
    client_transfer_id: row.client_transfer_id,
    user_token: formatToken('user', row.user_id),
  };
}

/** The payer's logo; "" if it is no longer requested or the payer is not offered. */
export function findPayerLogo(
  catalog: Catalog,
  request: { destinationToken: string; isWanted: boolean },
): string {
  return request.isWanted ? (catalog.findPayer(request.destinationToken)?.logo ?? '') : '';
}

/** The chain that the payout's rail pays its currency on; "" if it is none. */
export function findNetwork(rails: readonly Rail[], row: PayoutRow): string {
  if (row.delivery_type !== 'CRYPTOCURRENCY') return '';
  const rail = rails.find(({ name }) => name === row.rail);
  return rail?.networks?.[row.destination_currency] ?? '';
}

function readMetadata(row: PayoutRow, keys: KeyRing): string {
  const { account_id: accountId, user_id: userId, id: payoutId, data_key: dataKey } = row;
  return openMetadata(keys, { accountId, userId, payoutId, dataKey }, row.metadata);
}

function findPickupCode(row: PayoutRow, keys: KeyRing): string {
  const { account_id: accountId, user_id: userId, id: payoutId } = row;
  const code = { accountId, userId, payoutId, stored: row.pickup_code, dataKey: row.data_key };
  return openPickupCode(keys, code);
}

function readAttrs(row: PayoutRow, keys: KeyRing): Record<string, string> {
  if (row.sealed === null || row.attr_set_id === null) return {};
  const owner = { accountId: row.account_id, userId: row.user_id };
  const userKey = findUserKey(keys, row.data_key, owner);
  if (userKey === undefined) return {};
  const values = openValues(userKey, row.sealed, { ...owner, setId: row.attr_set_id });
  return maskValues(values, row.delivery_type as DeliveryType);
}

export function describeReceipt(
  row: PayoutRow,
  context: {
    environment: EnvironmentName;
    senderName: string;
    brand: ReceiptData['brand'];
    rails: readonly Rail[];
    user: User;
    keys: KeyRing;
    nowMs: number;
  },
): ReceiptData {
  const { environment, senderName, brand, rails, user, keys, nowMs } = context;
  const network = findNetwork(rails, row);
  const refund = getRefund(row);
  const rates = writeRates(row);
  const isCanceled = row.status === 'CANCELLED';
  const debited = isCanceled && refund === undefined ? 0n : row.source_amount + row.fee;
  const { person } = user;
  const source = getCurrency(row.source_currency);
  const destination = getCurrency(row.destination_currency);
  const instant = (time: Date | null): string => (time === null ? '' : formatSecondsZ(time));
  return {
    environment,
    payoutToken: formatToken('payout', row.id),
    clientTransferId: row.client_transfer_id,
    status: row.status,
    statusReason: row.status_reason,
    senderName,
    brand,
    recipientName:
      user.erasedAt === null
        ? person.business_name ||
          formatRecipientName(person, { country: user.country, language: person.language })
        : `Erased on ${formatSecondsZ(user.erasedAt).slice(0, 10)}`,
    recipientAddressLines: listAddressLines(user),
    internalUserId: user.erasedAt === null ? user.internalUserId : '',
    countryName: getCountry(row.country).name,
    deliveryType: row.delivery_type,
    payerName: row.payer_name,
    destination: labelAttrs(findStoredCorridor(rails, row), readAttrs(row, keys)),
    sourceAmount: formatAmount(row.source_amount, source),
    fee: formatAmount(row.fee, source),
    totalDebited: formatAmount(debited, source),
    refundAmount: refund === undefined ? '' : formatAmount(refund.minor, source),
    destinationAmount: formatAmount(row.destination_amount, destination),
    returnedAmount:
      row.returned_amount === 0n ? '' : formatAmount(row.returned_amount, destination),
    exchangeRate: rates.exchange_rate.text,
    midRate: rates.mid_rate.text,
    margin: rates.margin.text,
    sourceCurrency: row.source_currency,
    destinationCurrency: row.destination_currency,
    createdOn: instant(row.created_at),
    committedOn: instant(row.committed_at),
    completedOn: instant(row.completed_at),
    canceledOn: instant(isCanceled ? row.updated_at : null),
    expiresOn: instant(row.expires_at),
    estimatedAvailability: instant(row.estimated_availability),
    pickupCode: findPickupCode(row, keys),
    network,
    railReference: row.rail_reference,
    transactionHash: network === '' ? '' : row.rail_reference,
    issuedOn: formatSecondsZ(new Date(nowMs)),
  };
}

function listAddressLines({ person, country }: User): string[] {
  return [
    person.address1,
    person.address2,
    [person.postal_code, person.city, person.state_province].filter(Boolean).join(' '),
    getCountry(country).name,
  ].filter(Boolean);
}

/** Attribute values under the labels of their corridor, in its order. */
function labelAttrs(
  corridor: Corridor,
  attrs: AttributeValues,
): { label: string; value: string }[] {
  const { requirements } = getProfile(corridor);
  const known = new Set(requirements.map(({ type }) => type));
  const others = (Object.keys(attrs) as AttributeType[]).filter((type) => !known.has(type));
  return [...requirements, ...others.map(describeUnlisted)].flatMap(({ type, label }) => {
    const value = attrs[type];
    return value === undefined || value === '' ? [] : [{ label, value }];
  });
}
