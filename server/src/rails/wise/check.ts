import type { CallContext, RailFunds } from '../contract/contract.ts';
import { balancesSchema, stateChange, subscriptionsSchema } from './protocol.ts';
import type { Setup } from './setup.ts';

/** What a look at the account shows: funds, and faults of the setup. */

/** @throws Error with a sentence for the operator where the balances cannot be read. */
export async function readFunds(
  { api, config }: Pick<Setup, 'api' | 'config'>,
  context: CallContext,
): Promise<readonly RailFunds[]> {
  const path = `/v4/profiles/${config.profileId}/balances?types=STANDARD`;
  const answer = await api({ method: 'GET', path }, balancesSchema, context);
  if (answer.kind !== 'answered') throw new Error('the balances at Wise cannot be read');
  return answer.value.map(({ amount }) => ({ currency: amount.currency, amount: amount.value }));
}

export async function check(
  { api, config, host }: Pick<Setup, 'api' | 'config' | 'host'>,
  context: CallContext,
): Promise<readonly string[]> {
  const { profileId, sourceCurrency } = config;
  const path = `/v4/profiles/${profileId}/balances?types=STANDARD`;
  const balances = await api({ method: 'GET', path }, balancesSchema, context);
  if (balances.kind === 'unauthorized') {
    return ['Wise refuses the credentials: check credentials and profileId'];
  }
  if (balances.kind !== 'answered') {
    return ['Wise gives no definite answer: check baseUrl, profileId and the network'];
  }
  const faults: string[] = [];
  if (!balances.value.some(({ currency }) => currency === sourceCurrency)) {
    faults.push(`the profile has no ${sourceCurrency} balance to pay from: open one at Wise`);
  }
  const subscriptions = await api(
    { method: 'GET', path: `/v3/profiles/${profileId}/subscriptions` },
    subscriptionsSchema,
    context,
  );
  // Personal tokens may not read subscriptions.
  if (subscriptions.kind !== 'answered') return faults;
  const isSubscribed = subscriptions.value.some(
    (one) => one.trigger_on === stateChange && one.delivery.url === host.callbackUrl,
  );
  if (!isSubscribed) {
    faults.push(
      `Wise has no webhook subscription of ${stateChange} to ${host.callbackUrl}: create one (README.md)`,
    );
  }
  return faults;
}
