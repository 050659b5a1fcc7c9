import { randomUUID } from 'node:crypto';
import { findCurrency, getCurrency } from '../../../src/core/currency.ts';
import { getAmountMinor } from '../../../src/core/money.ts';
import { formatFixedAmount } from '../../../src/rails/kit/amounts.ts';
import {
  type AccountCheck,
  accountCheckSchema,
} from '../../../src/rails/partner/capability-protocol.ts';
import type { RefusalCode } from '../../../src/rails/partner/protocol.ts';
import type { BookedPayment, PaymentBook } from './payment-book.ts';
import { readJson } from './read-json.ts';
import type { PartnerHttpRequest } from './simulator-level.ts';
import type { SimulatorOptions } from './simulator-options.ts';

/** The optional parts of the protocol. */

type Refused = { readonly error: RefusalCode; readonly detail: string };

/** Undefined where the request is about none of the parts that this partner has. */
export function handleCapability(
  { options, books }: { options: SimulatorOptions; books: PaymentBook },
  { method, path, body }: PartnerHttpRequest,
): object | Refused | undefined {
  const { capabilities, requiredFields } = options;
  if (capabilities.length === 0) return undefined;
  if (method === 'GET' && path === '/capabilities') {
    const changes = options.defects.includes('changes_capabilities');
    const other = changes ? [randomUUID().replaceAll(/[^a-z]/g, '_')] : [];
    const limits = {
      orders_max: String(options.batchOrdersMax),
      bytes_max: String(options.batchBytesMax),
    };
    return {
      capabilities: [...capabilities, ...other],
      required_fields: requiredFields,
      ...(capabilities.includes('batches') ? { batch_limits: limits } : {}),
    };
  }
  if (method === 'POST' && path === '/account-check' && capabilities.includes('account_check')) {
    const wanted = accountCheckSchema.safeParse(readJson(body));
    if (wanted.success) return checkAccount(wanted.data, options);
    return { error: 'malformed', detail: 'the body must be an account check' };
  }
  if (method === 'GET' && path === '/prices' && capabilities.includes('prices')) {
    if (!options.defects.includes('states_rates_as_numbers')) return { prices: options.prices };
    return { prices: options.prices.map((one) => ({ ...one, rate: Number(one.rate) })) };
  }
  if (method === 'GET' && path === '/balances' && capabilities.includes('balances')) {
    const balances = listBalances([...books.payments.values()], options);
    if (!options.defects.includes('states_balances_as_numbers')) return { balances };
    return { balances: balances.map((one) => ({ ...one, available: Number(one.available) })) };
  }
  return undefined;
}

function checkAccount({ destination, beneficiary }: AccountCheck, options: SimulatorOptions) {
  const accounts = new Map(Object.entries(options.accountHolders));
  const [holder] = Object.values(destination).flatMap((value) => accounts.get(value) ?? []);
  if (options.defects.includes('matches_every_account')) return { result: 'match' };
  if (holder === undefined) return { result: 'not_possible' };
  const { first_name: first = '', last_name: last = '', business_name: business } = beneficiary;
  const given = splitName(business ?? `${first} ${last}`);
  const known = splitName(holder);
  const shared = known.filter((word) => given.includes(word));
  if (shared.length === known.length && given.length === known.length) return { result: 'match' };
  return shared.length === 0 ? { result: 'no_match' } : { result: 'close_match', name: holder };
}

function splitName(name: string): string[] {
  const plain = name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return plain.split(/[^a-z0-9]+/).filter((word) => word !== '');
}

/** What was paid in, without what the payments in the books took. */
function listBalances(payments: readonly BookedPayment[], { deposits, fee }: SimulatorOptions) {
  return Object.entries(deposits).flatMap(([code, deposit]) => {
    if (findCurrency(code) === undefined) return [];
    const read = (amount: string): bigint =>
      /^0*(?:\.0*)?$/.test(amount) ? 0n : getAmountMinor(amount, getCurrency(code));
    const taken = payments
      .filter(({ order, state }) => order.currency === code && state !== 'rejected')
      .map(({ order, state, returns }) => {
        const isCharged = state === 'paid' || state === 'returned';
        const back = returns.reduce((sum, { amount }) => sum + read(amount), 0n);
        return read(order.amount) - back + (isCharged ? read(fee) : 0n);
      });
    const left = taken.reduce((sum, minor) => sum - minor, read(deposit));
    const amount = formatFixedAmount(left < 0n ? -left : left, code);
    return [{ currency: code, available: left < 0n ? `-${amount}` : amount }];
  });
}
