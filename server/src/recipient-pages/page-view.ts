import { z } from 'zod';
import { type BrandRow, getBrand } from '../accounts/accounts.ts';
import type { Destination } from '../attributes/attributes.ts';
import type { EnvironmentName } from '../core/access.ts';
import { formatSecondsZ } from '../core/clock.ts';
import { getCountry } from '../core/country.ts';
import { getCurrency } from '../core/currency.ts';
import { formatAmount } from '../core/money.ts';
import { openPickupCode } from '../core/pickup-code.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { verificationStateAnswer } from '../kyc/verification-state-view.ts';
import type { PayoutPreview } from '../payouts/payout-preview.ts';
import { payoutStatuses } from '../payouts/payout-states.ts';
import { makeTones } from './brand.ts';
import { describeForm } from './details.ts';
import { linkPurposes } from './links.ts';

/** What a page of a recipient shows: of the sender, of what is to be done, of the state. */

const senderAnswer = z.object({
  name: z.string().describe('Of the account that created the link'),
  tones: z
    .object({
      light: z.string().describe('#rrggbb of texts and lines on a light page'),
      dark: z.string().describe('#rrggbb of texts and lines on a dark page'),
      fill: z.string().describe('#rrggbb of filled buttons'),
      on_fill: z.string().describe('#rrggbb of texts on them'),
    })
    .nullable()
    .describe('Null for the default colors'),
  logo: z.string().describe('The path of its picture; "" for none'),
  privacy_url: z.string().describe('"" for none'),
});

const destinationFields = {
  payer_name: z.string(),
  country_code: z.string().describe('ISO 3166-1 alpha-2, whose name the page writes'),
  delivery_type: z.string(),
  currency_code: z.string(),
};

const choiceAnswer = z.object({
  value: z.string().describe('What is stored'),
  text: z.string().describe('The key of its name in the texts; "" for a name of the country'),
  shows_value: z.boolean().describe('Whether the value is shown beside its name'),
  meaning: z.string().describe('What the country means by it; "" where the name says it'),
});

const fieldAnswer = z.object({
  token: z.string().describe('The attribute'),
  text: z.string().describe('The key of its name in the texts'),
  term: z.string().describe('What the country calls it; "" for nothing else'),
  input: z.enum(['text', 'options', 'date']).describe('The kind of input'),
  is_optional: z.boolean().describe('Whether it may be left empty'),
  length_max: z.int().describe('The greatest number of characters'),
  digits: z.array(z.int()).describe('The least and the greatest number; empty for other forms'),
  example: z.string().describe('The form of a value, zeros for digits; "" for words'),
  input_mode: z.string().describe('The keyboard of a phone, as HTML names it'),
  autocomplete: z.string().describe('What a browser may fill in, as HTML names it'),
  choices: z.array(choiceAnswer).describe('Of options; else empty'),
  options: z.array(z.string()).describe('The options that need it, of which one is chosen'),
});

const formAnswer = z.object({
  ...destinationFields,
  fields: z.array(fieldAnswer).describe('In the order in which they are asked for'),
});

const payoutAnswer = z.object({
  ...destinationFields,
  status: z.enum(payoutStatuses),
  amount: z.string().describe('What arrives, as a decimal'),
  returned_amount: z
    .string()
    .describe('The part of it that came back after it was paid out; "" for none'),
  fraction_digits: z.int().describe('Of the currency'),
  network_reference: z.string().describe('Of the payer; "" for none yet'),
  estimated_availability: z.string().describe('RFC 3339, UTC'),
  completed_on: z.string().describe('RFC 3339, UTC; "" before'),
  pickup_code: z.string().describe('"" where the link does not show it, or there is none'),
  needs_pickup_code: z.boolean().describe('Whether the money is collected with a code'),
  has_receipt: z.boolean().describe('Whether it is committed, so that there is a receipt'),
});

const pageKinds = [...linkPurposes, 'gone'] as const;

export const pageAnswer = z
  .object({
    kind: z.enum(pageKinds).describe('The purpose of the link, or `gone`'),
    reason: z
      .enum(['', 'invalid', 'expired', 'revoked', 'used', 'not_offered'])
      .describe('Of `gone`: why the link does nothing'),
    environment: z.enum(['staging', 'live']).describe('`staging` moves no money'),
    sender: senderAnswer.nullable().describe('Null for an unknown link'),
    redirect_url: z.string().describe('Where it leads at the end; "" for nowhere'),
    expiration: z.string().describe('RFC 3339, UTC'),
    read_on: z.string().describe('When the state was read, RFC 3339, UTC'),
    details: formAnswer.nullable().describe('Of payout_details'),
    verification: verificationStateAnswer.nullable().describe('Of verification'),
    payout: payoutAnswer.nullable().describe('Of payout_status'),
  })
  .meta({ id: 'RecipientPage' });
export type PageData = z.infer<typeof pageAnswer>;

export function emptyPage(environment: EnvironmentName): PageData {
  return {
    kind: 'gone',
    reason: 'invalid',
    environment,
    sender: null,
    redirect_url: '',
    expiration: '',
    read_on: '',
    details: null,
    verification: null,
    payout: null,
  };
}

/** `path`: of the page, below which its logo is. */
export async function writeSender(
  session: Session,
  { accountId, path }: { accountId: string; path: string },
): Promise<PageData['sender']> {
  return describeSender(await getBrand(session, accountId), path);
}

function describeSender(row: BrandRow, path: string): PageData['sender'] {
  return {
    name: row.sender_name,
    tones: makeTones(row.brand_color) ?? null,
    logo: row.brand_logo.length === 0 ? '' : `${path}/logo`,
    privacy_url: row.privacy_url,
  };
}

export function writeForm(destination: Destination): PageData['details'] {
  const { payer, currency } = destination;
  return {
    payer_name: payer.name,
    country_code: payer.country.alpha2,
    delivery_type: payer.deliveryType,
    currency_code: currency,
    fields: describeForm(destination),
  };
}

/** `showsCode`: whether the creator of the link wanted the pickup code on it. */
export function writePayoutState(
  { row }: PayoutPreview,
  { keys, showsCode }: { keys: KeyRing; showsCode: boolean },
): PageData['payout'] {
  const { account_id: accountId, user_id: userId, id: payoutId } = row;
  const stored = { accountId, userId, payoutId, stored: row.pickup_code, dataKey: row.data_key };
  const currency = getCurrency(row.destination_currency);
  return {
    payer_name: row.payer_name,
    country_code: getCountry(row.country).alpha2,
    delivery_type: row.delivery_type,
    currency_code: row.destination_currency,
    status: row.status,
    amount: formatAmount(row.destination_amount, currency),
    returned_amount: row.returned_amount === 0n ? '' : formatAmount(row.returned_amount, currency),
    fraction_digits: currency.scale,
    network_reference: row.rail_reference,
    estimated_availability: formatSecondsZ(row.estimated_availability),
    completed_on: row.completed_at === null ? '' : formatSecondsZ(row.completed_at),
    pickup_code: showsCode ? openPickupCode(keys, stored) : '',
    needs_pickup_code: row.pickup_code !== '',
    has_receipt: row.committed_at !== null,
  };
}
