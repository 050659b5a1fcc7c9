import { type Client, type Payout, ProblemError } from '../../../sdk/src/index.ts';
import { Failure } from '../failure.ts';
import { readAmount, readPairs } from '../values.ts';

/** A reference that was paid before: a script that is run again gets the payout of its first run. */

type Terms = {
  readonly to: string | undefined;
  readonly destination: string | undefined;
  readonly by: string | undefined;
  readonly currency: string | undefined;
  readonly amount: string | undefined;
  readonly receive: string | undefined;
  readonly from: string | undefined;
  readonly detail: readonly string[];
  readonly reference: string | undefined;
  readonly at: string | undefined;
};

/**
 * The payout that was committed with the reference; undefined where there is none.
 *
 * @throws Failure `duplicate_transfer` where the options describe another payout.
 */
export async function findPaid(
  client: Client,
  terms: Terms,
  signal: AbortSignal,
): Promise<Payout | undefined> {
  const { reference } = terms;
  if (reference === undefined) return undefined;
  for await (const { payout_token, user_token, status } of client.listPayouts(
    { client_transfer_id: reference },
    { signal },
  )) {
    if (status === 'PENDING') continue;
    const payout = await client.getPayout({ user_token, payout_token }, { signal });
    const user = await client.getUser({ user_token }, { signal });
    requireSameTerms(terms, { payout, internalUserId: user.internal_user_id });
    return payout;
  }
  return undefined;
}

type Paid = { readonly payout: Payout; readonly internalUserId: string };

/** @throws Failure that names what differs. What no option gives may be anything. */
function requireSameTerms(terms: Terms, { payout, internalUserId }: Paid): void {
  const { to, destination, by, currency, amount, receive, from, detail, at = '' } = terms;
  const isSameText = (given: string | undefined, paid: string): boolean =>
    given === undefined || given.toUpperCase() === paid.toUpperCase();
  const isSameAmount = (given: string | undefined, paid: Payout['fee']): boolean =>
    given === undefined || readAmount(given, '').compare(paid) === 0;
  const faults = {
    '--to': to === undefined || to === payout.user_token || to === internalUserId,
    '--amount': isSameAmount(amount, payout.source_amount),
    '--receive': isSameAmount(receive, payout.destination_amount),
    '--from': isSameText(from ?? 'USD', payout.source_currency_code),
    '--currency': isSameText(currency, payout.destination_currency_code),
    '--destination': isSameText(destination, payout.destination_token),
    '--by': isSameText(by, payout.delivery_type),
    '--detail': hasSameDetails(detail, payout.attrs),
    '--at': at === payout.scheduled_for,
  };
  const different = Object.entries(faults).flatMap(([name, isSame]) => (isSame ? [] : [name]));
  if (different.length === 0) return;
  const { client_transfer_id: reference, payout_token: token } = payout;
  throw new Failure(
    `The reference ${reference} was paid with another ${different.join(', ')}: ${token}. Nothing was paid now.`,
    { code: 'duplicate_transfer', payoutToken: token, next: `outlay payout show ${token}` },
  );
}

/** Account numbers are shown by their last four characters, and the service tidies what it is given. */
const shownLength = 4;

/** Details that are named by a label or a token cannot be compared. */
function hasSameDetails(
  detail: readonly string[],
  paid: Readonly<Record<string, string>>,
): boolean {
  const shown = new Map(Object.entries(paid).map(([type, value]) => [type.toLowerCase(), value]));
  return readPairs(detail, '--detail').every(([name, given]) => {
    const value = shown.get(name.toLowerCase());
    if (value === undefined || endOf(value) === '') return true;
    return endOf(given) === endOf(value);
  });
}

function endOf(value: string): string {
  return value
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()
    .slice(-shownLength);
}

/** Whether another run has paid the reference since it was looked up. */
export function isPaidMeanwhile(error: unknown): boolean {
  const isCode = error instanceof ProblemError || error instanceof Failure;
  return isCode && error.code === 'duplicate_transfer';
}
