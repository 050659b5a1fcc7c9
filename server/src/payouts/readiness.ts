import { openValues } from '../attributes/attribute-values.ts';
import {
  type AttributeContext,
  corridorOf,
  type Destination,
  needsAttributes,
} from '../attributes/attributes.ts';
import type { MissingDetail } from '../attributes/missing.ts';
import { findStops } from '../controls/freezes.ts';
import { AppError } from '../core/errors.ts';
import { type Quote, quotePayer } from '../destinations/quote.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { findWallet } from '../ledger/ledger.ts';
import { findMissingIdentity, listMissingValues } from './commit-refusal.ts';
import {
  describeMissingAttributes,
  describeQuoteRefusal,
  describeShortfall,
  describeUnverified,
  describeUserStatus,
  type Obstacle,
  stopTexts,
} from './obstacles.ts';
import { payeeTexts } from './payee-result.ts';
import { findQuoteContexts, type QuoteContextRow } from './quotes.sql.ts';
import { findRecipientOfQuote, type QuotedRecipientRow } from './recipient-check.sql.ts';
import {
  checkQuotedRecipient,
  describeRefusedRecipient,
  openRecipient,
  type RecipientServices,
} from './recipient-check.ts';

/**
 * Whether a payout to a recipient could be quoted and committed now, and everything that stands in the
 * way. It reads what a quote and a commit read, and judges with their functions.
 */

export type ReadinessServices = RecipientServices & {
  rates(): MidRates;
  /** YYYY-MM-DD. */
  today: string;
  /** Commits are refused after a restore. */
  isRecovering: boolean;
  isRailDown(destination: Destination): boolean;
  /** Of all payers that may pay it. */
  railsOf(destination: Destination): readonly string[];
  createIdentityLink(): Promise<string>;
};

export type ReadinessQuery = {
  userId: string;
  destination: Destination;
  sourceCurrency: string;
  /** What the recipient gets; undefined: what depends on the amount is not judged. */
  amountMinor: bigint | undefined;
};

/** What a person should look at before the commit. */
export type Warning = { code: keyof typeof payeeTexts; detail: string };

export type Readiness = {
  obstacles: Obstacle[];
  /** What does not stand in the way. */
  warnings: Warning[];
  /** Undefined without an amount, and where there is no price. */
  quote: Quote | undefined;
};

type Facts = { row: QuoteContextRow; recipient: QuotedRecipientRow; quote: Quote | undefined };

/** @throws AppError not_found (user). */
export async function findReadiness(
  services: ReadinessServices,
  { session, accountId }: Pick<AttributeContext, 'session' | 'accountId'>,
  query: ReadinessQuery,
): Promise<Readiness> {
  const { userId, sourceCurrency, destination } = query;
  const nothing = { sourceToken: undefined, attrSetId: undefined, clientTransferId: undefined };
  const [row] = await findQuoteContexts(session, accountId, [
    { ...nothing, userId, sourceCurrency },
  ]);
  const recipient = await findRecipientOfQuote(session, accountId, {
    userId,
    destinationToken: destination.payer.destinationToken,
    currency: destination.currency,
    attrSetId: undefined,
  });
  if (row === undefined || recipient === undefined) {
    throw new AppError('not_found', 'User not found');
  }
  const priced = price(services, query);
  const quote = priced?.ok === true ? priced : undefined;
  if (row.user_status === 'DEACTIVE') {
    // Nothing else can be remedied: the user is erased, for good.
    return { obstacles: [describeUserStatus(row.user_status)], warnings: [], quote };
  }
  const facts = { row, recipient, quote };
  const obstacles = [
    ...listStandingObstacles(services, query, row),
    ...(await listStopObstacles(services, { session, accountId }, query)),
    ...(priced?.ok === false ? [describeQuoteRefusal(priced)] : []),
    ...(await listRecipientObstacles(services, { session, accountId }, { ...query, ...facts })),
    ...(await listBalanceObstacles({ session, accountId }, query, facts)),
  ];
  return { obstacles, warnings: listWarnings(services, recipient, obstacles), quote };
}

function listWarnings(
  { keys }: ReadinessServices,
  recipient: QuotedRecipientRow,
  obstacles: readonly Obstacle[],
): Warning[] {
  // After an erasure nothing can be opened, and the state of the user stands in the way.
  if (recipient.payee === null || recipient.data_key.length === 0) return [];
  const outcome = openRecipient(keys, recipient).payee?.outcome;
  if (outcome !== 'no_match' && outcome !== 'close_match') return [];
  const code = `payee_${outcome}` as const;
  const isRefused = obstacles.some((obstacle) => obstacle.code === code);
  return isRefused ? [] : [{ code, detail: payeeTexts[code] }];
}

function price(services: ReadinessServices, { destination, ...query }: ReadinessQuery) {
  if (query.amountMinor === undefined) return undefined;
  return quotePayer({
    payer: destination.payer,
    sourceCurrency: query.sourceCurrency,
    destinationCurrency: destination.currency,
    amount: { side: 'destination', minor: query.amountMinor },
    rates: services.rates(),
  });
}

/** Those that do not depend on the details of the recipient. */
function listStandingObstacles(
  services: ReadinessServices,
  { destination }: ReadinessQuery,
  row: QuoteContextRow,
): Obstacle[] {
  const obstacles: Obstacle[] = [];
  if (services.isRecovering) {
    const detail = 'the service was restored, and commits are refused until it is released';
    obstacles.push({ code: 'recovering', detail });
  }
  if (services.isRailDown(destination)) {
    const detail = `${destination.payer.name} cannot be reached now: a payout would wait`;
    obstacles.push({ code: 'rail_unavailable', detail });
  }
  if (row.user_status !== 'ACTIVE') obstacles.push(describeUserStatus(row.user_status));
  return obstacles;
}

async function listStopObstacles(
  services: ReadinessServices,
  { session, accountId }: Pick<AttributeContext, 'session' | 'accountId'>,
  { destination }: ReadinessQuery,
): Promise<Obstacle[]> {
  const { country, deliveryType } = destination.payer;
  const codes = await findStops(session, {
    accountId,
    country: country.code,
    deliveryType,
    currency: destination.currency,
    rails: services.railsOf(destination),
  });
  return codes.map((code) => ({ code, detail: stopTexts[code] }));
}

async function listRecipientObstacles(
  services: ReadinessServices,
  { session, accountId }: Pick<AttributeContext, 'session' | 'accountId'>,
  query: ReadinessQuery & Facts,
): Promise<Obstacle[]> {
  const { destination, recipient, quote, userId } = query;
  const corridor = corridorOf(destination);
  const missing = listMissing(services, accountId, query);
  const obstacles = missing === undefined ? [] : [describeMissingAttributes(missing)];
  const threshold = destination.payer.verifiedAboveUsdMinor;
  const needsVerification = quote?.verificationRequired ?? threshold === 0n;
  if (needsVerification && recipient.kyc_status !== 'approved') {
    const identityLink = await services.createIdentityLink();
    const user = { ...corridor, accountId, userId };
    const context = { keys: services.keys, identityLink };
    obstacles.push(describeUnverified(await findMissingIdentity(context, session, user)));
  }
  const faults = await checkQuotedRecipient(services, async () => recipient, {
    accountId,
    userId,
    ...destination,
    // Without an amount, the smallest one: a rail refuses large ones only.
    amountMinor: query.amountMinor ?? 1n,
    attrSetId: undefined,
  });
  const lacking = new Set<string>(missing?.map(({ type }) => type));
  const others = faults.filter(({ field }) => !lacking.has(field));
  return [...obstacles, ...describeRefusedRecipient({ faults: others, corridor })];
}

/** What the attributes lack that a quote would pin; undefined: nothing. */
function listMissing(
  { keys, today }: ReadinessServices,
  accountId: string,
  { destination, recipient, userId }: ReadinessQuery & Facts,
): MissingDetail[] | undefined {
  if (!needsAttributes(destination) || recipient.is_complete) return undefined;
  const owner = { accountId, userId };
  const { attributes, set_id: setId } = recipient;
  const values =
    attributes === null || setId === null
      ? {}
      : openValues(keys.unwrap(recipient.data_key, owner), attributes, { ...owner, setId });
  return listMissingValues(corridorOf(destination), values, today);
}

async function listBalanceObstacles(
  { session, accountId }: Pick<AttributeContext, 'session' | 'accountId'>,
  { sourceCurrency: currency }: ReadinessQuery,
  { row, quote }: Facts,
): Promise<Obstacle[]> {
  const token = row.wallet_token;
  const wallet = token === null ? undefined : await findWallet(session, { accountId, token });
  if (wallet === undefined) {
    const detail = `the account has no balance in ${currency}`;
    return [{ code: 'no_balance_in_currency', detail }];
  }
  if (quote === undefined) return [];
  const neededMinor = quote.sourceMinor + quote.feeMinor;
  const shortfall = describeShortfall({ neededMinor, balanceMinor: wallet.balance, currency });
  return shortfall === undefined ? [] : [shortfall];
}
