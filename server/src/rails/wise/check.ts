import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import type { CallContext, RailFunds } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import {
  balancesSchema,
  type RequirementForm,
  requirementFormsSchema,
  stateChange,
  subscriptionsSchema,
  transferRefund,
} from './protocol.ts';
import { requestQuote } from './quotes.ts';
import { isKnownKey } from './recipient-fields.ts';
import { minorVersion } from './requirements.ts';
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
  if (balances.kind === 'unclear' && balances.reason === 'busy') {
    return ['Wise limits the rate of requests or is down for maintenance: try again later'];
  }
  if (balances.kind !== 'answered') {
    return [
      'Wise gives no definite answer: check baseUrl, profileId, the network and the certificate',
    ];
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
  const listed = subscriptions.kind === 'answered' ? subscriptions.value : undefined;
  for (const event of [stateChange, transferRefund]) {
    const isSubscribed = listed?.some(
      (one) => one.trigger_on === event && one.delivery.url === host.callbackUrl,
    );
    if (isSubscribed === false) {
      faults.push(
        `Wise has no webhook subscription of ${event} to ${host.callbackUrl}: create one (README.md)`,
      );
    }
  }
  for (const payer of host.payers) {
    for (const currency of payer.currencies) {
      const found = await checkRequirements({ api, config }, { payer, currency }, context);
      faults.push(...found.map((fault) => `payer ${payer.key} (${currency}): ${fault}`));
    }
  }
  return faults;
}

/** Whether Wise serves the route, and asks for nothing there that the rail has no source of. */
async function checkRequirements(
  setup: Pick<Setup, 'api' | 'config'>,
  { payer, currency }: { payer: PayerDeclaration; currency: string },
  context: CallContext,
): Promise<readonly string[]> {
  const { priceAmounts, sourceCurrency } = setup.config;
  const sourceMinor = getAmountMinor(priceAmounts[0] ?? '100', getCurrency(sourceCurrency));
  const quote = await requestQuote(setup, { payer, currency, amount: { sourceMinor } }, context);
  if (quote.kind === 'refused')
    return [`Wise gives no quote from ${sourceCurrency}: ${quote.code}`];
  if (quote.kind !== 'answered') return ['Wise gives no quote now'];
  const forms = await setup.api(
    {
      method: 'GET',
      path: `/v1/quotes/${quote.value.id}/account-requirements`,
      headers: minorVersion,
    },
    requirementFormsSchema,
    context,
  );
  if (forms.kind !== 'answered') return ['Wise gives no account requirements now'];
  const named = payer.options['recipientType'];
  const usable = forms.value.filter(({ type }) => named === undefined || type === named);
  if (usable.length === 0) return ['Wise has no such type of recipient account here'];
  const lacks = usable.map((form) => listUnknownKeys(form, payer));
  const [least = []] = lacks.toSorted((a, b) => a.length - b.length);
  return least.map(
    (key) =>
      `Wise requires ${key}: set options["attribute.${key}"] or options["field.${key}"], or another type`,
  );
}

function listUnknownKeys(form: RequirementForm, payer: PayerDeclaration): readonly string[] {
  return form.fields
    .flatMap(({ group }) => group)
    .filter(({ key, required }) => required && !isKnownKey(key, payer))
    .map(({ key }) => key);
}
