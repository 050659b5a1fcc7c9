import { selectFields } from './capabilities.ts';
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
];

const accountResults = ['match', 'close_match', 'no_match', 'not_possible'];

async function needCapability(trial: Trial, name: string): Promise<void> {
  const { capabilities } = await trial.readCapabilities();
  if (!capabilities.includes(name)) throw new Skip(`"${name}" is not announced`);
}

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
