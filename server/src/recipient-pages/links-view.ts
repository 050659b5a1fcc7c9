import { z } from 'zod';
import { formatSeconds } from '../core/clock.ts';
import { formatToken } from '../core/ids.ts';
import { type LinkRow, linkPurposes, linkStatuses } from './links.ts';

/** A recipient link in answers. */

const linkFields = {
  link_token: z.string().describe('Identifies the link; it opens nothing'),
  user_token: z.string(),
  purpose: z.enum(linkPurposes).describe('What the recipient can do with it'),
  status: z.enum(linkStatuses),
  destination_token: z.string().describe('Of payout_details; else ""'),
  currency: z.string().describe('Of payout_details; else ""'),
  attr_set_token: z
    .string()
    .describe('The set that gets a new version; of a used link the set that was stored. Else ""'),
  payout_token: z.string().describe('Of payout_status; else ""'),
  shows_pickup_code: z.boolean().describe('Of payout_status; else false'),
  redirect_url: z.string().describe('Where the page leads at the end; "" for nowhere'),
  created_on: z.string().describe('UTC, without offset'),
  expiration: z.string().describe('UTC, without offset'),
  ended_on: z.string().describe('When it was used or revoked, UTC; "" for neither'),
};

export const linkAnswer = z.object(linkFields).meta({ id: 'RecipientLink' });

export const newLinkAnswer = z
  .object({
    ...linkFields,
    url: z.string().describe('For the recipient. Shown in this answer only'),
  })
  .meta({ id: 'NewRecipientLink' });

export function writeLink(row: LinkRow): z.infer<typeof linkAnswer> {
  const setId = row.attr_set_id;
  return {
    link_token: formatToken('link', row.id),
    user_token: formatToken('user', row.user_id),
    purpose: row.purpose,
    status: row.status,
    destination_token: row.destination_token ?? '',
    currency: row.currency ?? '',
    attr_set_token: setId === null ? '' : formatToken('attributeSet', setId),
    payout_token: row.payout_id === null ? '' : formatToken('payout', row.payout_id),
    shows_pickup_code: row.shows_pickup_code,
    redirect_url: row.redirect_url,
    created_on: formatSeconds(row.created_at),
    expiration: formatSeconds(row.expires_at),
    ended_on: row.ended_at === null ? '' : formatSeconds(row.ended_at),
  };
}
