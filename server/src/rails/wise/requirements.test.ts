import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, mock, test } from 'node:test';
import type { Form } from '../../../testing/counterparties/wise/forms.ts';
import { firstForms } from '../../../testing/counterparties/wise/forms.ts';
import { type HostGround, openHostGround } from '../../../testing/setups/rail.ts';
import {
  context,
  openWiseRail,
  philippinePayer,
  toAmerica,
  toPhilippines,
  type WiseRail,
} from '../../../testing/setups/wise.ts';
import type { Instruction } from '../contract/contract.ts';
import { railModule } from './rail.ts';

let ground: HostGround;
let subject: WiseRail;
/** What the rail wants to know; it does not wait until that is stored. */
let listWants: () => readonly Promise<unknown>[];
before(async () => {
  ground = await openHostGround();
});
after(() => ground.close());
beforeEach(async () => {
  subject = await openWiseRail(ground, { host: { payers: [philippinePayer] } });
  const memory = subject.host.requirements;
  assert.ok(memory);
  const want = mock.method(memory, 'want');
  listWants = () => want.mock.calls.flatMap(({ result }) => (result === undefined ? [] : [result]));
});
afterEach(() => subject.close());

const requirements = /account-requirements$/;
const payer = { payerKey: philippinePayer.key, currency: 'PHP' };

function listFaults(instruction: Instruction): readonly string[] {
  const faults = subject.rail.checkRecipient?.(instruction) ?? [];
  return faults.map(({ field, code }) => `${field} ${code}`);
}

const find = (given: Record<string, string> = {}) =>
  subject.host.requirements?.find({ ...payer, given });

/** Passes until every form that the recipient needs is known. */
async function learn(instruction: Instruction): Promise<void> {
  for (let pass = 0; pass < 4; pass += 1) {
    listFaults(instruction);
    await Promise.all(listWants());
    await subject.rail.work?.(context);
  }
}

/** The form of pesos with changes to one of its fields, by key; undefined takes it away. */
function change(key: string, changes: object | undefined): Form {
  const form = firstForms['PHP'];
  assert.ok(form);
  return {
    ...form,
    fields: form.fields.flatMap((one) =>
      one.key !== key ? [one] : changes === undefined ? [] : [{ ...one, ...changes }],
    ),
  };
}

test('a pass reads the forms of each payer; a recipient makes it read those of its values', async () => {
  assert.equal(find(), undefined);
  await subject.rail.work?.(context);
  const [form] = find()?.forms ?? [];
  assert.equal(form?.type, 'philippines');
  const bank = form?.fields.find(({ key }) => key === 'bankCode');
  assert.deepEqual(bank, {
    key: 'bankCode',
    attribute: 'BankRoutingNumber',
    isCompact: true,
    label: 'Bank name',
    input: 'options',
    isRequired: true,
    isRefreshing: true,
    choices: [
      { value: 'BDO', label: 'Banco de Oro (BDO)' },
      { value: 'BPI', label: 'Bank of the Philippine Islands' },
    ],
  });
  const given = { bankCode: 'BPI', legalType: 'PRIVATE' };
  const instruction = toPhilippines({ BankRoutingNumber: 'BPI', BankAccountNumber: '1234567890' });
  assert.deepEqual(listFaults(instruction), []);
  assert.equal(find(given), undefined);
  await learn(instruction);
  assert.deepEqual(
    find(given)?.forms[0]?.fields.find(({ key }) => key === 'branchCode')?.attribute,
    'BankAccountBranchNumber',
  );
  assert.deepEqual(listFaults(instruction), ['BankAccountBranchNumber missing']);
  const other = toPhilippines({
    BankRoutingNumber: 'BPI',
    BankAccountNumber: '1234567890',
    BankAccountBranchNumber: '003',
  });
  assert.deepEqual(listFaults(other), ['BankAccountBranchNumber invalid']);
});

test('a payment goes through every round, and fills the details as the form has them', async () => {
  const attributes = {
    BankRoutingNumber: 'bpi',
    BankAccountNumber: '1234-567890',
    BankAccountBranchNumber: '002',
    IdentificationNumber: '123-456-789',
  };
  const business = toPhilippines(attributes, { businessName: 'Byron Ltd' });
  assert.equal((await subject.rail.send(business, context)).outcome, 'accepted');
  assert.deepEqual(subject.wise.recipients.at(-1)?.details, {
    legalType: 'BUSINESS',
    bankCode: 'BPI',
    branchCode: '002',
    accountNumber: '1234567890',
    taxId: '123456789',
  });
  // What a payment has read is kept, so that the next recipient is judged by it.
  const { IdentificationNumber: _tax, ...incomplete } = attributes;
  const next = toPhilippines(incomplete, { businessName: 'Byron Ltd' });
  assert.deepEqual(listFaults(next), ['IdentificationNumber missing']);
  assert.deepEqual(await subject.rail.send(next, context), {
    outcome: 'rejected',
    reason: 'invalid_details',
    code: 'requirement:taxId',
  });
  const person = toPhilippines({ ...incomplete, BankRoutingNumber: 'BDO' });
  assert.equal((await subject.rail.send(person, context)).outcome, 'accepted');
  assert.deepEqual(subject.wise.recipients.at(-1)?.details, {
    legalType: 'PRIVATE',
    bankCode: 'BDO',
    accountNumber: '1234567890',
  });
});

test('a changed form is a new version, and what it newly requires is missing before the commit', async () => {
  const instruction = toPhilippines({ BankRoutingNumber: 'BDO', BankAccountNumber: '1234567890' });
  await learn(instruction);
  const version = find()?.version ?? 0;
  assert.deepEqual(listFaults(instruction), []);
  subject.wise.setForm('PHP', change('taxId', { when: undefined }));
  const later = await subject.again({ requirementsSeconds: 1 }, {}, { nowMs: inAnHour });
  await later.work?.(context);
  const changed = find();
  assert.ok((changed?.version ?? 0) > version);
  assert.deepEqual(listFaults(instruction), ['IdentificationNumber missing']);
  const all = subject.host.requirements?.findAll(payer.payerKey, payer.currency);
  assert.equal(all?.version, Math.max(...(all?.variants.map((one) => one.version) ?? [])));
  assert.match(JSON.stringify(subject.host.lines), /asks for other details/);
  // The same form again is no new version.
  await later.work?.(context);
  assert.equal(find()?.version, changed?.version);
});

const inAnHour = () => Date.now() + 3_600_000;

test('without an answer the last forms count; without any the payment waits', async () => {
  const instruction = toPhilippines({ BankRoutingNumber: 'BDO', BankAccountNumber: '1234567890' });
  subject.wise.setFaults([{ on: requirements, kind: 'maintenance' }]);
  assert.deepEqual(await subject.rail.send(instruction, context), {
    outcome: 'retry',
    reason: 'busy',
  });
  assert.equal(subject.wise.recipients.length, 0);
  subject.wise.setFaults([]);
  await learn(instruction);
  subject.wise.setFaults([{ on: requirements, kind: 'maintenance' }]);
  // Another process, which has nothing but what is stored.
  const other = await subject.again();
  assert.equal((await other.send(instruction, context)).outcome, 'accepted');
  const line = subject.host.lines.find(({ message }) => message.includes('the last ones are used'));
  assert.equal(line?.fields['payer'], philippinePayer.key);
  assert.ok(Number(line?.fields['ageSeconds']) >= 0);
});

test('fields that vanish are not asked for; an unknown one refuses until it is configured', async () => {
  const instruction = toPhilippines({ BankRoutingNumber: 'BDO', BankAccountNumber: '1234567890' });
  subject.wise.setForm('PHP', change('bankCode', undefined));
  await learn(instruction);
  const account = toPhilippines({ BankAccountNumber: '1234567890' });
  assert.deepEqual(listFaults(account), []);
  assert.equal((await subject.rail.send(account, context)).outcome, 'accepted');
  const form = change('bankCode', { key: 'favouriteColor', values: undefined, name: 'Color' });
  subject.wise.setForm('PHP', form);
  const later = await subject.again({ requirementsSeconds: 1 }, {}, { nowMs: inAnHour });
  await later.work?.(context);
  assert.deepEqual(listFaults(account), ['destination not_served']);
  assert.match(
    (await later.check?.(context))?.join() ?? '',
    /requires favouriteColor: set options/,
  );
  const options = { 'attribute.favouriteColor': 'BankCity' };
  const assigned = await subject.again({}, { options });
  const drafted = assigned.checkRecipient?.(account).map(({ field, code }) => `${field} ${code}`);
  assert.deepEqual(drafted, ['BankCity missing']);
  const colored = toPhilippines({ BankAccountNumber: '1234567890', BankCity: 'blue' });
  assert.equal((await assigned.send(colored, context)).outcome, 'accepted');
});

test('hostile forms: patterns that would run for ever, of another dialect, and too many fields', async () => {
  const value = `${'1'.repeat(15)}x`;
  const instruction = toPhilippines({ BankRoutingNumber: 'BDO', BankAccountNumber: value });
  for (const regexp of ['^(([0-9])+)+$', '^([0-9]|[0-9][0-9])*$']) {
    subject.wise.setForm('PHP', change('accountNumber', { regexp }));
    assert.deepEqual(await subject.rail.send(instruction, context), {
      outcome: 'rejected',
      reason: 'invalid_details',
      code: 'requirement:accountNumber',
    });
    subject = await reopen();
  }
  // Look-ahead is not RE2's: Wise checks the value when it gets it.
  subject.wise.setForm('PHP', change('accountNumber', { regexp: '^(?=[0-9])[0-9]+$' }));
  assert.deepEqual(await subject.rail.send(instruction, context), {
    outcome: 'rejected',
    reason: 'invalid_details',
    code: 'NOT_VALID:accountNumber',
  });
  assert.match(JSON.stringify(subject.host.lines), /cannot be checked here/);
  subject = await reopen();
  const { type = '', fields = [] } = firstForms['PHP'] ?? {};
  const many = Array.from({ length: 100 }, (_one, at) => ({ key: `extra${at}`, isOptional: true }));
  subject.wise.setForm('PHP', { type, fields: [...fields, ...many] });
  assert.deepEqual(await subject.rail.send(instruction, context), {
    outcome: 'retry',
    reason: 'not_understood',
  });
});

async function reopen(): Promise<WiseRail> {
  await subject.close();
  return openWiseRail(ground, { host: { payers: [philippinePayer] } });
}

test('values of free text that change the form stay out of what is stored', async () => {
  subject.wise.setForm('PHP', change('accountNumber', { refreshes: true }));
  const instruction = toPhilippines({ BankRoutingNumber: 'BDO', BankAccountNumber: '1234567890' });
  assert.equal((await subject.rail.send(instruction, context)).outcome, 'accepted');
  const wanted = await subject.host.requirements?.listWanted();
  assert.doesNotMatch(JSON.stringify(wanted), /1234567890/);
});

test('a recipient in another country is judged by the form of that country', async () => {
  const american = await openWiseRail(ground);
  try {
    const complete = toAmerica();
    assert.equal((await american.rail.send(complete, context)).outcome, 'accepted');
    const noState = { ...complete.beneficiary, stateProvince: '' };
    const check = (beneficiary: Instruction['beneficiary']) =>
      american.rail.checkRecipient?.(toAmerica({ beneficiary })).map(({ field }) => field);
    assert.deepEqual(check(noState), ['state_province']);
    assert.deepEqual(check({ ...noState, countryCode: 'GBR' }), []);
  } finally {
    await american.close();
  }
});

test('a payer may not assign an attribute that does not exist', () => {
  const wrong = { ...philippinePayer, options: { 'attribute.color': 'Color', recipientType: 'x' } };
  const collected = { currency: 'PHP', attributes: [], sample: {} };
  const faults = railModule.checkPayer?.(wrong, collected) ?? [];
  assert.match(faults.join(), /attribute.color.* must be one of/);
  assert.deepEqual(railModule.checkPayer?.(philippinePayer, collected), []);
});
