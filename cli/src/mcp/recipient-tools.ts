import { z } from 'zod';
import { readReadiness } from '../../../sdk/src/index.ts';
import { listOffers } from '../commands/destinations.ts';
import { take } from '../find.ts';
import { showAttribute, showRecipient } from './shown.ts';
import {
  amount,
  countryCode,
  currencyCode,
  defineTool,
  destinationToken,
  limit,
  record,
  records,
  type Tool,
  userToken,
} from './tool.ts';

/** Whom one can pay, how, and what is still needed for it. */

export const recipientTools: readonly Tool[] = [
  defineTool({
    name: 'list_recipients',
    title: 'List recipients',
    description:
      'Recipients (the API calls them users), newest first. Filter by your own identifier, e-mail address or country.',
    input: {
      internal_user_id: z.string().max(75).optional().describe("The client's own identifier"),
      email: z.string().max(254).optional(),
      country: countryCode.optional(),
      limit,
    },
    output: { recipients: records },
    kind: 'read',
    run: async ({ client, signal }, { limit: count, ...filter }) => {
      const users = await take(client.listUsers(filter, { signal }), count);
      return { recipients: users.map(showRecipient) };
    },
  }),
  defineTool({
    name: 'get_recipient',
    title: 'Read a recipient',
    description: 'Name, country and status. A recipient who is not ACTIVE cannot be paid.',
    input: { user_token: userToken },
    output: { recipient: record },
    kind: 'read',
    run: async ({ client, signal }, address) => ({
      recipient: showRecipient(await client.getUser(address, { signal })),
    }),
  }),
  defineTool({
    name: 'create_recipient',
    title: 'Create a recipient',
    description:
      'Only with data that the person you work for gave you. Account details follow with store_requirements.',
    input: {
      internal_user_id: z.string().max(75).describe("The client's own, unique identifier"),
      country: countryCode,
      first_name: z.string().min(1).max(100),
      last_name: z.string().min(1).max(100),
      email: z.string().max(254).describe('Unique in the account'),
      business_name: z.string().max(200).optional(),
      mobile_number: z.string().max(40).optional().describe('With the country code'),
      date_of_birth: z.string().max(10).optional().describe('YYYY-MM-DD'),
      address1: z.string().max(200).optional(),
      city: z.string().max(100).optional(),
      state_province: z.string().max(100).optional(),
      postal_code: z.string().max(20).optional(),
    },
    output: { recipient: record },
    kind: 'create',
    run: async ({ client, signal }, body) => ({
      recipient: showRecipient(await client.createUser({ body }, { signal })),
    }),
  }),
  defineTool({
    name: 'list_destinations',
    title: 'List destinations',
    description:
      'The payers of a country with indicative rate and fee for an amount, cheapest first within a delivery type. Only a quote locks a rate.',
    input: {
      country_code: countryCode,
      source_currency: currencyCode.default('USD').describe('The balance that pays'),
      amount: amount.optional().describe('What to send, in source_currency; default "200"'),
      destination_currency: currencyCode.optional(),
    },
    output: { destinations: records },
    kind: 'read',
    run: async ({ client, signal }, query) => ({
      destinations: (await listOffers(client, query, { signal })).map((offer) => ({ ...offer })),
    }),
  }),
  defineTool({
    name: 'get_requirements',
    title: 'Read what a destination needs',
    description:
      'The attributes of the recipient that a destination needs, with pattern, hint and what is stored. Account and document numbers are masked.',
    input: { user_token: userToken, destination_token: destinationToken, currency: currencyCode },
    output: { attributes: records },
    kind: 'read',
    run: async ({ client, signal }, place) => ({
      attributes: (await client.readAttributes(place, { signal })).map(showAttribute),
    }),
  }),
  defineTool({
    name: 'store_requirements',
    title: 'Store what a destination needs',
    description:
      'Stores values of attributes by the tokens of get_requirements, and answers what is still missing. Only with values that the person you work for gave you: the money goes where they say.',
    input: {
      user_token: userToken,
      destination_token: destinationToken,
      currency: currencyCode,
      values: z
        .array(z.object({ token: z.string().max(100), value: z.string().max(1000) }))
        .min(1)
        .max(50),
    },
    output: { stored: record },
    kind: 'write',
    run: async ({ client, signal }, { values, ...place }) => {
      const stored = await client.storeAttributes({ ...place, body: { values } }, { signal });
      // The answer repeats the values in full.
      const { attr_set_token, missing } = stored;
      return { stored: { attr_set_token, missing } };
    },
  }),
  defineTool({
    name: 'check_readiness',
    title: 'Ask whether a recipient can be paid',
    description:
      'Every obstacle to a payout, each with a code, who has to act, and what is missing. Reserves nothing.',
    input: {
      user_token: userToken,
      destination_token: destinationToken,
      currency: currencyCode.describe('What the destination pays out'),
      amount: amount.optional().describe('What the recipient gets, in currency'),
      source_currency: currencyCode.default('USD').describe('The balance that pays'),
    },
    output: { readiness: record },
    kind: 'read',
    run: async ({ client, signal }, subject) => {
      const readiness = await readReadiness(client, subject, signal);
      return { readiness: { ...readiness } };
    },
  }),
];
