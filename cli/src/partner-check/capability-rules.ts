import { needCapability, selectFields } from './capabilities.ts';
import { type Order, type Rule, Skip, type Trial, Violation } from './check.ts';
import type { Call } from './partner.ts';

/** Rules about the optional parts; one that the partner does not announce is skipped. */

export const capabilityRules: readonly Rule[] = [
  {
    name: 'capabilities',
    rule: 'GET /capabilities answers 200 with the list "capabilities", and the same each time.',
    check: async (trial) => {
      const first = await trial.readCapabilities();
      const again = await trial.readCapabilities();
      if (JSON.stringify(first) !== JSON.stringify(again)) {
        throw new Violation('two answers, one after the other, are different');
      }
    },
  },
  {
    name: 'required-fields',
    rule: 'An order without a required field is booked as "rejected" with the reason "invalid_details".',
    check: async (trial) => {
      const announced = await trial.readCapabilities();
      const fields = selectFields(announced, trial.description.order);
      if (fields.length === 0) throw new Skip('no field is required of the order of the file');
      for (const field of fields) {
        const order = trial.newOrder();
        if (!takeOut(order, field.split('.'))) {
          throw new Violation(`the order of the file must have ${field}, which is required`);
        }
        const { state, reason } = await trial.put(order);
        if (state !== 'rejected' || reason !== 'invalid_details') {
          const found = `${state}${reason === undefined ? '' : ` with the reason ${reason}`}`;
          throw new Violation(`an order without ${field} was booked as ${found}`);
        }
      }
    },
  },
  {
    name: 'sender-and-purpose',
    rule: 'An order with the data of "sender" and "purpose" is booked, and repeated without a conflict.',
    check: async (trial) => {
      const { capabilities } = await trial.readCapabilities();
      const hasSender = capabilities.includes('sender');
      const hasPurpose = capabilities.includes('purpose');
      if (!hasSender && !hasPurpose) throw new Skip('neither "sender" nor "purpose" is announced');
      const given = trial.newOrder();
      const order = {
        ...given,
        ...(hasPurpose ? { purpose: given['purpose'] ?? 'SALARY' } : {}),
        ...(hasSender ? { originator: { ...sender, ...(given['originator'] as object) } } : {}),
      };
      await trial.put(order);
      const { state } = await trial.put(order);
      if (state === 'rejected') throw new Violation('the order of the file was rejected');
    },
  },
  {
    name: 'account-check',
    rule: 'POST /account-check answers 200 with a result, and the name of a close match; a body that is not valid, 400.',
    check: async (trial) => {
      await needCapability(trial, 'account_check');
      const { accountChecks = {} } = trial.description;
      const wanted = Object.entries(accountChecks);
      for (const [expected, changes] of [[undefined, {}] as const, ...wanted]) {
        const body = describeAccount(Object.assign(trial.newOrder(), changes));
        const answer = await callPart(trial, { method: 'POST', path: '/account-check', body });
        const { result, name } = answer as { result?: unknown; name?: unknown };
        if (!accountResults.includes(String(result))) {
          throw new Violation(`result must be one of ${accountResults.join(', ')}`);
        }
        if (expected !== undefined && result !== expected) {
          throw new Violation(
            `the account of "${expected}" in the file has the result ${String(result)}`,
          );
        }
        const hasName = typeof name === 'string' && name.trim() !== '';
        if (result === 'close_match' && !hasName) {
          throw new Violation('a close match must have the name of the holder');
        }
      }
      const malformed = { payer: 12 };
      const path = '/account-check';
      const refused = await trial.call({ method: 'POST', path, body: malformed });
      trial.expectRefusal(refused, 400, 'malformed');
    },
  },
  {
    name: 'balances',
    rule: 'GET /balances answers 200 with each currency once; an amount is a decimal text.',
    check: async (trial) => {
      await needCapability(trial, 'balances');
      const answer = await callPart(trial, { method: 'GET', path: '/balances' });
      const { balances } = answer as { balances?: unknown };
      if (!Array.isArray(balances)) throw new Violation('balances must be a list');
      const seen = new Set<string>();
      for (const { currency, available } of balances as Record<string, unknown>[]) {
        if (typeof currency !== 'string' || !/^[A-Z0-9]{3,5}$/.test(currency)) {
          throw new Violation('currency must be a code, such as MXN');
        }
        if (seen.has(currency)) throw new Violation(`${currency} must be there once`);
        seen.add(currency);
        const form = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?$/;
        if (typeof available !== 'string' || !form.test(available)) {
          throw new Violation(`available of ${currency} must be a text such as "12.50"`);
        }
      }
    },
  },
  {
    name: 'prices',
    rule: 'GET /prices answers 200 with rates and fees as decimal texts; steps of fees ascend.',
    check: async (trial) => {
      await needCapability(trial, 'prices');
      for (const price of await readPrices(trial)) {
        if (!isDecimal(price.rate) || Number(price.rate) === 0) {
          throw new Violation('rate must be a text above zero, such as "0.91"');
        }
        if (price.source_currency === price.destination_currency && Number(price.rate) !== 1) {
          throw new Violation('rate must be "1" within one currency');
        }
        const fault = findFeeFault(price.fee);
        if (fault !== undefined) throw new Violation(fault);
      }
    },
  },
  {
    name: 'price-limit',
    rule: 'An order that would cost more than price_limit is booked as "rejected" with the reason "price_worse".',
    check: async (trial) => {
      await needCapability(trial, 'prices');
      const order = trial.newOrder();
      const price = (await readPrices(trial)).find(
        ({ payer, destination_currency: currency }) =>
          payer === order.payer && currency === order.currency,
      );
      if (price === undefined) throw new Skip('no price is for the order of the file');
      if (Number(order.amount) / Number(price.rate) <= 1) {
        throw new Skip(`the order of the file costs no more than 1 ${price.source_currency}`);
      }
      const limit = { amount: '1', currency: price.source_currency };
      const { state, reason } = await trial.put(Object.assign(order, { price_limit: limit }));
      if (state !== 'rejected' || reason !== 'price_worse') {
        throw new Violation(`an order with a limit of 1 ${limit.currency} was booked as ${state}`);
      }
    },
  },
];

type Price = {
  readonly payer: string;
  readonly source_currency: string;
  readonly destination_currency: string;
  readonly rate?: unknown;
  readonly fee?: unknown;
};

async function readPrices(trial: Trial): Promise<readonly Price[]> {
  const { prices } = (await callPart(trial, { method: 'GET', path: '/prices' })) as {
    prices?: unknown;
  };
  if (!Array.isArray(prices)) throw new Violation('prices must be a list');
  for (const price of prices as Record<string, unknown>[]) {
    for (const name of ['payer', 'source_currency', 'destination_currency']) {
      if (typeof price[name] !== 'string') throw new Violation(`${name} of a price must be a text`);
    }
  }
  return prices as readonly Price[];
}

function isDecimal(value: unknown): value is string {
  return typeof value === 'string' && /^(?:0|[1-9]\d{0,14})(?:\.\d{1,9})?$/.test(value);
}

function findFeeFault(fee: unknown): string | undefined {
  if (!Array.isArray(fee) || fee.length === 0) return 'fee must be a list with a step';
  let before = 0;
  for (const [index, step] of (fee as Record<string, unknown>[]).entries()) {
    const { up_to: upTo, fixed, basis_points: points } = step;
    const isWhole = typeof points === 'string' && /^(?:0|[1-9]\d{0,4})$/.test(points);
    if (!isDecimal(fixed) || !isWhole) return 'fixed and basis_points of a step must be texts';
    if (upTo === undefined && index === fee.length - 1) return undefined;
    if (!isDecimal(upTo) || Number(upTo) <= before) {
      return 'up_to of steps must ascend, and only the last step may be without it';
    }
    before = Number(upTo);
  }
  return undefined;
}

const accountResults = ['match', 'close_match', 'no_match', 'not_possible'];

/** The object in an answer that counts. */
async function callPart(trial: Trial, call: Call): Promise<object> {
  const { status, json, fault } = await trial.call(call);
  if (status !== 200) throw new Violation(`expected status 200, not ${status}`);
  if (fault !== undefined) throw new Violation(`the answer does not count: ${fault}`);
  if (typeof json !== 'object' || json === null)
    throw new Violation('the answer must be an object');
  return json;
}

function describeAccount(order: Order): object {
  const { payer, country, delivery_type, currency, destination, beneficiary } = order;
  return { payer, country, delivery_type, currency, destination, beneficiary };
}

const sender = {
  legal_name: 'Partner Check Limited',
  address_1: '1 Example Street',
  city: 'Leeds',
  postal_code: 'LS1 1AA',
  country: 'GBR',
  registration_type: 'RAID',
  registration_id: '01234567',
  registration_authority: 'RA000585',
};

/** Whether the order had the member. The objects on the way to it are replaced, not changed. */
function takeOut(order: Order, path: readonly string[]): boolean {
  const [name = '', ...rest] = path;
  const within = order as { [name: string]: unknown };
  if (!Object.hasOwn(within, name)) return false;
  if (rest.length === 0) {
    delete within[name];
    return true;
  }
  const inner = { ...(within[name] as object) } as Order;
  within[name] = inner;
  return takeOut(inner, rest);
}
