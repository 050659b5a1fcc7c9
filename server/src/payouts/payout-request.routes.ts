import { z } from 'zod';
import { findAccount } from '../accounts/accounts.ts';
import { isRealDate } from '../core/calendar-date.ts';
import { currencyPattern, findCurrencyFault } from '../core/currency.ts';
import type { Fault } from '../core/errors.ts';
import { type ExactJson, isExactObject } from '../core/exact-json.ts';
import { hashMetadata } from '../core/metadata-hashes.ts';
import { findCharacterFault } from '../core/plain-text.ts';
import { metadataField } from '../http/metadata.ts';
import type { BaseServices } from '../http/route.ts';
import { decimalField, requireField, textField } from '../http/schema.ts';
import { describeBothTokens, type PayoutRequest } from './quote-request.ts';

/** The body with which a payout is created. */

const tokenText = z.string().max(100).optional();

const currencyField = z
  .string()
  .regex(currencyPattern, {
    error: 'must be an ISO 4217 code or a ticker, in capitals',
    abort: true,
  })
  .refine((code) => findCurrencyFault(code) === undefined, {
    error: ({ input }) => findCurrencyFault(String(input)),
    params: { code: 'unknown_currency' },
  });

/** The fields of a request; a row of a batch has the same. */
export const payoutFields = {
  client_transfer_id: textField(50)
    .min(1, { abort: true })
    .refine((id) => id.trim() === id || findCharacterFault(id) !== undefined, {
      error: 'must not begin or end with a space',
    })
    .optional()
    .describe('Your own identifier; committed once, forever. Made up when absent'),
  source_currency_code: currencyField.optional().describe('Default USD'),
  destination_currency_code: currencyField,
  source_token: tokenText.describe('A balance; excludes destination_token'),
  destination_token: tokenText.describe('From the country look-up; excludes source_token'),
  source_amount: decimalField.optional().describe('What leaves the balance, before the fee'),
  destination_amount: decimalField.optional().describe('What the recipient gets'),
  attr_set_token: tokenText.describe('The attribute values to use; the latest ones without it'),
  metadata: metadataField.optional().describe('Yours; lists can be searched by it'),
  notify_user: z.boolean().optional().describe('Whether the user gets a message'),
};

// Hour 24 is in ISO 8601, but not in RFC 3339; `Date.parse` takes it for midnight of the next day.
const timePattern =
  /^\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

/** A date, or a time in RFC 3339 with its offset. */
function isScheduleTime(text: string): boolean {
  if (!isRealDate(text.slice(0, 10))) return false;
  return text.length === 10 || (timePattern.test(text) && !Number.isNaN(Date.parse(text)));
}

/** The fields of a payout for a later time. */
export const scheduleFields = {
  scheduled_for: z
    .string()
    .refine(isScheduleTime, {
      error: 'must be a date, YYYY-MM-DD, or a time in RFC 3339 with its offset',
    })
    .optional()
    .describe(
      'When it is to run: RFC 3339 with an offset, or a date, which means the opening of that day ' +
        'at the destination. The answer shows in `runs_at` when it will. At most 365 days ahead',
    ),
  max_source_amount: decimalField
    .optional()
    .describe('With scheduled_for and destination_amount: it does not run at a price above'),
  min_destination_amount: decimalField
    .optional()
    .describe('With scheduled_for and source_amount: it does not run at a price below'),
};

export const payoutRequest = z.object({ ...payoutFields, ...scheduleFields }).meta({
  id: 'PayoutRequest',
  allOf: [
    {
      oneOf: [
        requireField('source_amount', 'number'),
        requireField('destination_amount', 'number'),
      ],
    },
    {
      anyOf: [requireField('source_token', 'string'), requireField('destination_token', 'string')],
    },
  ],
});

/** Faults of fields that exclude or require each other. */
export function findExclusionFaults(_env: unknown, json: ExactJson): Fault[] {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return [];
  const fields = json as { [key: string]: ExactJson };
  const faults = [...findAmountFaults(fields), ...findBoundFaults(fields)];
  if (!isGiven(fields['source_token']) && !isGiven(fields['destination_token'])) {
    const detail = 'destination_token or source_token is required';
    faults.push({ pointer: '/destination_token', code: 'required', detail });
  }
  return faults;
}

/** Whether the account takes both tokens is known to its settings alone. */
export async function findBothTokens(
  { db }: BaseServices,
  accountId: string,
  json: ExactJson,
): Promise<Fault[]> {
  if (!isExactObject(json)) return [];
  if (!isGiven(json['source_token']) || !isGiven(json['destination_token'])) return [];
  const account = await findAccount(db.tenant(accountId), accountId);
  return account?.accept_both_tokens === false ? describeBothTokens() : [];
}

export function isGiven(value: ExactJson | undefined): boolean {
  return value !== undefined && value !== '';
}

/** Exactly one of the two amounts must be given. */
export function findAmountFaults(fields: { readonly [name: string]: ExactJson }): Fault[] {
  const [hasSource, hasDestination] = [fields['source_amount'], fields['destination_amount']].map(
    isGiven,
  );
  if (hasSource !== hasDestination) return [];
  if (hasSource) {
    const detail = 'source_amount and destination_amount must not both be given';
    return [{ pointer: '/destination_amount', code: 'amounts_exclusive', detail }];
  }
  const detail = 'source_amount or destination_amount is required';
  return [{ pointer: '/source_amount', code: 'required', detail }];
}

/** A bound is for the amount that is not given, of a payout that is priced later. */
function findBoundFaults(fields: { readonly [name: string]: ExactJson }): Fault[] {
  const given = ['max_source_amount', 'min_destination_amount'].filter((name) =>
    isGiven(fields[name]),
  );
  const faults = given.flatMap((name): Fault[] => {
    const amount = name.slice(4);
    if (!isGiven(fields[amount])) return [];
    const detail = `${name} excludes ${amount}, which stays as given`;
    return [{ pointer: `/${name}`, code: 'amounts_exclusive', detail }];
  });
  if (given.length === 0 || isGiven(fields['scheduled_for'])) return faults;
  const detail = `scheduled_for is required with ${given.join(' and ')}`;
  return [...faults, { pointer: '/scheduled_for', code: 'required', detail }];
}

export function readPayoutRequest(body: z.infer<typeof payoutRequest>): PayoutRequest {
  const token = (text: string | undefined): string | undefined => (text === '' ? undefined : text);
  return {
    clientTransferId: body.client_transfer_id,
    sourceToken: token(body.source_token),
    sourceCurrency: body.source_currency_code,
    destinationToken: token(body.destination_token),
    destinationCurrency: body.destination_currency_code,
    sourceAmount: body.source_amount?.text,
    destinationAmount: body.destination_amount?.text,
    attrSetToken: token(body.attr_set_token),
    notifyUser: body.notify_user ?? false,
    metadata: JSON.stringify(body.metadata ?? {}),
    metadataHashes: hashMetadata(body.metadata ?? {}),
    schedule:
      body.scheduled_for === undefined
        ? undefined
        : {
            scheduledFor: body.scheduled_for,
            maxSourceAmount: body.max_source_amount?.text,
            minDestinationAmount: body.min_destination_amount?.text,
          },
  };
}
