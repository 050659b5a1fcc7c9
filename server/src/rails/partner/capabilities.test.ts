import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, test } from 'node:test';
import {
  context,
  declarePartnerPayer,
  describeConfig,
  newInstruction,
  openPartnerRail,
  openWithSecrets,
  type PartnerRail,
} from '../../../testing/setups/partner.ts';
import type { Instruction, RecipientDraft, Sender } from '../contract/contract.ts';
import { configSchema } from './config.ts';
import { createOrder } from './payment-order.ts';
import { railModule } from './rail.ts';

/** Sender, purpose and required fields, and how the configuration is compared with the partner. */

const newKey = (id: string) => ({ id, key: randomBytes(32).toString('base64') });
const key = newKey('outlay-1');
const light = { authentication: { kind: 'hmac', key } } as const;
const fields = ['originator.city', 'purpose', 'beneficiary.date_of_birth'];
const requiredFields = [{ payers: ['ES-1'], countries: ['ESP'], fields }];
const capabilities: ('sender' | 'purpose')[] = ['sender', 'purpose'];

const sender: Sender = {
  legalName: 'Example Limited',
  address1: '',
  city: 'Leeds',
  stateProvince: '',
  postalCode: 'LS1 1AA',
  countryCode: 'GBR',
  registrationType: 'RAID',
  registrationId: '01234567',
  registrationAuthority: 'RA000585',
};

let partner: Awaited<ReturnType<typeof openWithSecrets>>;
let subject: PartnerRail;

before(async () => {
  const secrets = { light: { outlayKeys: [key], callbackKey: newKey('partner-1') } };
  partner = await openWithSecrets({ settleMs: 86_400_000, capabilities, requiredFields }, secrets);
  subject = await open({ capabilities, requiredFields });
});
after(async () => {
  await subject.close();
  await partner.close();
});
afterEach(() => {
  partner.state.options.capabilities = capabilities;
  partner.state.options.requiredFields = requiredFields;
});

function open(config: object): Promise<PartnerRail> {
  return openPartnerRail({
    url: `http://127.0.0.1:${partner.port}`,
    payers: [declarePartnerPayer({ options: { code: 'ES-1' } })],
    config: { light, ...config },
  });
}

function newComplete(changes: Partial<Instruction> = {}): Instruction {
  const given = newInstruction();
  return {
    ...given,
    attributes: { ...given.attributes, RemittanceReason: 'SALARY' },
    beneficiary: { ...given.beneficiary, dateOfBirth: '1990-02-03' },
    originator: { ...given.originator, sender },
    ...changes,
  };
}

const setup = { payerCodes: new Map<string, string>(), callbackUrl: '', purposeCodes: {} };

test('an order has sender and purpose only where the capabilities are configured', () => {
  const instruction = newComplete();
  const without = createOrder(instruction, { ...setup, capabilities: [] });
  assert.deepEqual(without.originator, { id: 'acct_1', name: 'Example Ltd' });
  assert.equal(without.purpose, undefined);
  const purposeCodes = { SALARY: 'SALA' };
  const order = createOrder(instruction, { ...setup, capabilities, purposeCodes });
  assert.equal(order.purpose, 'SALA');
  assert.deepEqual(order.originator, {
    id: 'acct_1',
    name: 'Example Ltd',
    legal_name: 'Example Limited',
    city: 'Leeds',
    postal_code: 'LS1 1AA',
    country: 'GBR',
    registration_type: 'RAID',
    registration_id: '01234567',
    registration_authority: 'RA000585',
  });
});

test('the check of a recipient names every required field that is missing', () => {
  const draft: RecipientDraft = { ...newInstruction(), sender: undefined };
  const check = (changes: Partial<RecipientDraft>) =>
    subject.rail.checkRecipient?.({ ...draft, ...changes }).map(({ field, code }) => [field, code]);
  assert.equal(subject.rail.usesSender, true);
  assert.deepEqual(check({}), [
    ['RemittanceReason', 'missing'],
    ['date_of_birth', 'missing'],
    ['sender', 'sender_incomplete'],
  ]);
  const { beneficiary } = newComplete();
  assert.deepEqual(check({ attributes: undefined, sender, beneficiary }), []);
  const business = { ...draft.beneficiary, firstName: '', lastName: '', businessName: 'Obra SL' };
  const attributes = { RemittanceReason: 'SALARY' };
  assert.deepEqual(check({ attributes, sender, beneficiary: business }), []);
  assert.deepEqual(check({ countryCode: 'FRA' }), []);
  assert.deepEqual(check({ payerKey: 'other' }), []);
});

test('data that was lost after the commit keeps an order from leaving, and nothing else', async () => {
  const instruction = newComplete();
  const incomplete = { ...instruction, originator: { accountId: 'acct_1', name: 'Example Ltd' } };
  const answer = await subject.rail.send(incomplete, context);
  assert.deepEqual(answer, { outcome: 'retry', reason: 'travel_rule_incomplete' });
  assert.equal(partner.state.books.payments.size, 0);
  assert.equal((await subject.rail.send(instruction, context)).outcome, 'accepted');
  // It has been ordered: the order as it left counts.
  assert.equal((await subject.rail.send(incomplete, context)).outcome, 'accepted');
});

test('an order that may have left is repeated with its text, whatever has changed since', async () => {
  const instruction = newComplete();
  const { reference } = instruction;
  const fault = { on: 'put', kind: 'reset_before', share: 1, count: 1 } as const;
  partner.state.options.faults = [{ ...fault, pattern: `^${reference}$`, delayMs: 0 }];
  assert.equal((await subject.rail.send(instruction, context)).outcome, 'unknown');
  const incomplete = { ...instruction, originator: { accountId: 'acct_1', name: 'Example Ltd' } };
  assert.equal((await subject.rail.send(incomplete, context)).outcome, 'accepted');
});

test('a partner rejects what lacks a required field', async () => {
  const other = await open({ capabilities, requiredFields: [] });
  try {
    const answer = await other.rail.send(newInstruction(), context);
    assert.deepEqual(answer.outcome, 'rejected');
    assert.equal('reason' in answer ? answer.reason : '', 'invalid_details');
  } finally {
    await other.close();
  }
});

test('the doctor compares the configuration with what the partner announces', async () => {
  assert.deepEqual(await subject.rail.check?.(context), []);
  partner.state.options.capabilities = ['purpose'];
  partner.state.options.requiredFields = [{ fields: ['beneficiary.city', 'purpose'] }];
  assert.deepEqual(await subject.rail.check?.(context), [
    'the partner does not announce the configured capability sender',
    'the partner requires beneficiary.city of EUR by bank: add it to requiredFields',
  ]);
  partner.state.options.capabilities = [];
  assert.match((await subject.rail.check?.(context))?.join() ?? '', /must answer 200/);
});

test('a partner without optional parts has no faults', async () => {
  partner.state.options.capabilities = [];
  const plain = await open({});
  try {
    assert.deepEqual(await plain.rail.check?.(context), []);
    assert.deepEqual(plain.rail.checkRecipient?.({ ...newInstruction() }), []);
    assert.equal(plain.rail.usesSender, false);
  } finally {
    await plain.close();
  }
});

test('a required attribute that no recipient is asked for stops the start', async () => {
  const listAttributes = () => ['BankAccountNumber'];
  const options = { url: 'http://127.0.0.1:1', config: { light, capabilities, requiredFields } };
  const opening = railModule.create(describeConfig(options), { ...subject.host, listAttributes });
  await assert.rejects(opening, /bank can never pay EUR: requiredFields has purpose/);
});

test('required fields must be fields of an order, and have their capability', () => {
  const read = (required: string[], given: string[]) =>
    configSchema.safeParse({
      baseUrl: 'https://partner.example',
      light,
      capabilities: given,
      requiredFields: [{ fields: required }],
    }).error?.issues[0]?.message;
  assert.equal(read(['destination.SWIFT', 'beneficiary.city'], []), undefined);
  assert.match(read(['originator.city'], []) ?? '', /requires the capability sender/);
  assert.match(read(['purpose'], ['sender']) ?? '', /requires the capability purpose/);
  assert.match(read(['pickup_code'], []) ?? '', /is not a field that can be required/);
});
