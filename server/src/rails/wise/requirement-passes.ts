import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import type { CallContext, RequirementsKey, RequirementsMemory } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import { requestQuote } from './quotes.ts';
import type { Setup } from './setup.ts';

/** Readings of one pass; what is left is read in the next one. */
const readingsMax = 100;

/**
 * Reads the account requirements that were never read or are older than `requirementsSeconds`: of each
 * payer and currency, and under the values that recipients had. What fails stays as it was.
 */
export async function refreshRequirements(setup: Setup, context: CallContext): Promise<void> {
  const { config, host } = setup;
  const memory = host.requirements;
  if (memory === undefined) return;
  const isDue = (key: RequirementsKey): boolean => {
    const readAtMs = memory.find(key)?.readAtMs;
    // A clock that was set back far makes it due as well.
    const ageMs = Math.abs(host.nowMs() - (readAtMs ?? Number.NEGATIVE_INFINITY));
    return ageMs >= config.requirementsSeconds * 1000;
  };
  const wanted = (await memory.listWanted()).filter(({ given }) => Object.keys(given).length > 0);
  let left = readingsMax;
  for (const payer of host.payers) {
    for (const currency of payer.currencies) {
      const due = listKeys({ payer, currency, wanted }).filter(isDue).slice(0, left);
      left -= due.length;
      if (due.length > 0 && !context.signal.aborted) {
        await readKeys(setup, { payer, currency, keys: due }, context);
      }
    }
  }
}

function listKeys({
  payer,
  currency,
  wanted,
}: {
  payer: PayerDeclaration;
  currency: string;
  wanted: Awaited<ReturnType<RequirementsMemory['listWanted']>>;
}): readonly RequirementsKey[] {
  const own = wanted.filter((one) => one.payerKey === payer.key && one.currency === currency);
  return [{ payerKey: payer.key, currency, given: {} }, ...own];
}

async function readKeys(
  { api, config, requirements }: Setup,
  {
    payer,
    currency,
    keys,
  }: { payer: PayerDeclaration; currency: string; keys: readonly RequirementsKey[] },
  context: CallContext,
): Promise<void> {
  const { priceAmounts, sourceCurrency } = config;
  const sourceMinor = getAmountMinor(priceAmounts[0] ?? '100', getCurrency(sourceCurrency));
  const asked = { payer, currency, amount: { sourceMinor } };
  const quote = await requestQuote({ api, config }, asked, context);
  if (quote.kind !== 'answered') return;
  for (const key of keys) {
    const answer = await requirements.read({ quoteId: quote.value.id, payer, key }, context);
    // Wise is down or busy; a refusal is about one key only.
    if (answer.kind === 'unclear' || answer.kind === 'unauthorized') return;
  }
}
