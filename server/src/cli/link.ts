import { readDestination } from '../attributes/attributes.routes.ts';
import { ConfigError } from '../config.ts';
import { takePage } from '../db/time-page.ts';
import { getPublicUrl } from '../environment/public-url.ts';
import { findPayoutPreview } from '../payouts/payout-preview.ts';
import {
  checkFormDestination,
  createLink,
  formatLinkPath,
  type LinkPurpose,
  linkLifeSeconds,
  linkSeconds,
  listLinks,
  revokeLink,
} from '../recipient-pages/links.ts';
import { writeLink } from '../recipient-pages/links-view.ts';
import { defineCommand, RowPage } from './command.ts';
import { type CommandContext, openRails } from './context.ts';
import {
  currency,
  duration,
  flag,
  idCursor,
  identifier,
  link,
  longLimit,
  payout,
  redirectUrl,
  user,
} from './options.ts';
import { getUserKey } from './user-key.ts';

const terms = {
  expires: duration('how long it is valid').optional(),
  redirectUrl: redirectUrl.optional(),
};

type Terms = {
  accountId: string;
  userId: string;
  purpose: LinkPurpose;
  expires?: number | undefined;
  redirectUrl?: string | undefined;
  destinationToken?: string;
  currency?: string;
  payoutId?: string;
  showsPickupCode?: boolean;
};

/** @throws ConfigError */
async function create(context: CommandContext, given: Terms) {
  const { db, config, name } = context;
  const lifeSeconds = given.expires ?? linkLifeSeconds[given.purpose];
  if (lifeSeconds < linkSeconds.min || lifeSeconds > linkSeconds.max) {
    throw new ConfigError('--expires must be from 5m to 30d');
  }
  const { row, token } = await db.tenantTransaction(given.accountId, (session) =>
    createLink(
      { session, keys: context.keys },
      {
        accountId: given.accountId,
        userId: given.userId,
        purpose: given.purpose,
        destinationToken: given.destinationToken,
        currency: given.currency,
        attrSetId: undefined,
        payoutId: given.payoutId,
        showsPickupCode: given.showsPickupCode ?? false,
        redirectUrl: given.redirectUrl ?? '',
        credentialId: undefined,
        lifeSeconds,
      },
    ),
  );
  return { ...writeLink(row), url: getPublicUrl(config, name) + formatLinkPath(token) };
}

export const linkCommands = [
  defineCommand({
    name: 'link details',
    resultNames: ['link_token', 'expiration'],
    permission: 'operate',
    about: 'create a link by which a recipient gives the details of a destination',
    options: { user, destination: identifier('token of the destination'), currency, ...terms },
    run: async (context, { user: userId, destination, currency: of, ...values }) => {
      const key = await getUserKey(context, userId);
      await using rails = await openRails(context);
      const place = { destination_token: destination, currency: of.code };
      checkFormDestination(readDestination({ catalog: rails.catalog() }, place));
      return await create(context, {
        ...key,
        ...values,
        purpose: 'payout_details',
        destinationToken: destination,
        currency: of.code,
      });
    },
  }),
  defineCommand({
    name: 'link verification',
    resultNames: ['link_token', 'expiration'],
    permission: 'operate',
    about: 'create a link by which a recipient verifies an identity',
    options: { user, ...terms },
    run: async (context, { user: userId, ...values }) =>
      create(context, {
        ...(await getUserKey(context, userId)),
        ...values,
        purpose: 'verification',
      }),
  }),
  defineCommand({
    name: 'link status',
    resultNames: ['link_token', 'expiration'],
    permission: 'operate',
    about: 'create a link by which a recipient follows a payout',
    options: {
      user,
      payout,
      showPickupCode: flag('anyone with the link sees the code that collects the money'),
      ...terms,
    },
    run: async (context, { user: userId, payout: payoutId, showPickupCode, ...values }) => {
      const key = await getUserKey(context, userId);
      const id = { ...key, payoutId };
      if ((await findPayoutPreview(context.db.tenant(key.accountId), id)) === undefined) {
        throw new ConfigError('the user has no such payout');
      }
      const purpose = 'payout_status' as const;
      return create(context, { ...id, ...values, purpose, showsPickupCode: showPickupCode });
    },
  }),
  defineCommand({
    name: 'link list',
    permission: 'read',
    about: 'list the links of a recipient, newest first',
    options: { user, limit: longLimit.optional(), cursor: idCursor.optional() },
    run: async (context, { user: userId, limit: count = 1000, cursor: before }) => {
      const key = await getUserKey(context, userId);
      const services = { session: context.db.system, keys: context.keys };
      const found = await listLinks(services, { ...key, before, rowsMax: count + 1 });
      const { rows, next } = takePage(found, count, ({ id }) => id);
      return new RowPage(rows.map(writeLink), next);
    },
  }),
  defineCommand({
    name: 'link revoke',
    resultNames: ['status'],
    permission: 'operate',
    about: 'revoke a link of a recipient',
    options: { user, link },
    run: async (context, { user: userId, link: id }) => {
      const key = await getUserKey(context, userId);
      return context.db.tenantTransaction(key.accountId, async (session) =>
        writeLink(await revokeLink({ session, keys: context.keys }, { ...key, id })),
      );
    },
  }),
];
