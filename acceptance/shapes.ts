import assert from 'node:assert/strict';
import { ExactNumber, type Json } from './exact.ts';
import type { Reply } from './service.ts';

/** The answers according to section 2 of the interface specification, and problem answers. */

export const patterns = {
  user: /^usr_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  attribute: /^attr_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  attributeSet: /^attr_set_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  payout: /^payout_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  localTime: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/,
  zuluTime: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/,
  country: /^[A-Z]{3}$/,
  currency: /^[A-Z0-9]{3,5}$/,
};

/** The name of a type, a pattern of a string, or the values of an enum. */
type Rule = 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | RegExp | string[];

export type Shape = Readonly<Record<string, Rule>>;

export const deliveryTypes = [
  'CASH_PICKUP',
  'BANK_DEPOSIT',
  'HOME_DELIVERY',
  'MOBILE_WALLET',
  'PAPER_CHECK',
  'BILL',
  'CRYPTOCURRENCY',
];

export const payoutStatuses = [
  'PENDING',
  'PROCESSING',
  'COMPLETED',
  'CANCELLED',
  'SCHEDULED',
  'READY_FOR_PICKUP',
  'HOLD',
  'ERROR',
];

/** Attribute types, as in the documentation. */
export const attributeTypes = (
  'CardNumber BankAccountType BankAccountNumber BankAccountBranchNumber BankName PhoneNumber ' +
  'Gender IdentificationNumber BillReferenceNumber BankRoutingNumber BankAccountName MaidenName ' +
  'SocialSecurity EmploymentName EmploymentAddress EmploymentPhone EmploymentOccupation ' +
  'EmploymentSupervisor RemittanceReason Relationship SecondLastName SWIFT BirthCountry ' +
  'SourceOfFunds DateOfBirth CardExpiration CardZip IdentificationType BankCity BankState ' +
  'IDSelfieCollection City Country IdentificationExpiration Address1 PostalCode'
).split(' ');

export const shapes = {
  balance: { token: patterns.uuid, balance: 'number', currency_code: patterns.currency },
  user: {
    user_token: patterns.user,
    status: ['ACTIVE', 'LOCKED', 'DEACTIVE'],
    created_on: patterns.localTime,
    internal_user_id: 'string',
    address1: 'string',
    address2: 'string',
    city: 'string',
    state_province: 'string',
    postal_code: 'string',
    country: patterns.country,
    first_name: 'string',
    middle_name: 'string',
    last_name: 'string',
    email: 'string',
    language: /^[a-z]{2}$/,
    mobile_number: /^\d*$/,
    business_name: 'string',
    timezone: /^[A-Za-z_/+-]+/,
    date_of_birth: /^(?:\d{4}-\d{2}-\d{2})?$/,
    metadata: 'object',
  },
  company: {
    company_name: 'string',
    company_logo: 'string',
    rating: 'number',
    description: 'string',
    services: 'array',
  },
  service: { country_code: patterns.country, delivery_type: deliveryTypes, payers: 'array' },
  payer: {
    destination_token: patterns.uuid,
    payer_name: 'string',
    payer_logo: 'string',
    exchange_rate: 'array',
    fee: 'number',
    min_limit: 'number',
    max_limit: 'number',
    source_amount: 'number',
    total_debit: 'number',
    number_of_locations: 'integer',
    estimated_availability: patterns.zuluTime,
    additional_description: 'string',
    is_dynamic_token: 'boolean',
    account_form: /^(?:|stored_card|provider_account)$/,
  },
  rate: {
    currency_symbol: patterns.currency,
    exchange_rate: 'number',
    mid_rate: 'number',
    destination_amount: 'number',
  },
  attribute: {
    token: patterns.attribute,
    attr_set_token: 'string',
    label: 'string',
    validation: 'string',
    is_optional: 'boolean',
    value: 'string',
    expected_value: 'string',
    type: attributeTypes,
    input_type: ['text', 'options', 'date'],
    last_attr_value_used: 'boolean',
  },
  payout: {
    payout_token: patterns.payout,
    user_token: patterns.user,
    client_transfer_id: /^.{1,50}$/,
    source_currency_code: patterns.currency,
    destination_currency_code: patterns.currency,
    source_token: patterns.uuid,
    destination_token: patterns.uuid,
    source_amount: 'number',
    destination_amount: 'number',
    attr_set_token: 'string',
    exchange_rate: 'number',
    mid_rate: 'number',
    margin: 'number',
    fee: 'number',
    expiration: patterns.localTime,
    pickup_code: /^(?:\d{8})?$/,
    status: payoutStatuses,
    status_reason: 'string',
    payer_logo: 'string',
    payer_name: 'string',
    delivery_type: deliveryTypes,
    country_code: patterns.country,
    metadata: 'object',
    estimated_availability: patterns.zuluTime,
    attrs: 'object',
    created_at: patterns.zuluTime,
    committed_at: /^(?:\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z)?$/,
    completed_at: /^(?:\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z)?$/,
    canceled_at: /^(?:\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z)?$/,
    timeline: 'array',
    cancelable: 'boolean',
    fees: 'array',
    total_debit: 'number',
    network: 'string',
    rail_reference: 'string',
    transaction_hash: 'string',
  },
  commit: {
    payout_token: patterns.payout,
    status: ['success', 'failure', 'addtl_attr_req', 'ex_rate_expired'],
    pickup_code: /^(?:\d{8})?$/,
    errors: 'string',
  },
  history: {
    token: patterns.payout,
    type: ['payout'],
    time_of_txn: patterns.localTime,
    source_amount: 'number',
    source_currency_code: patterns.currency,
    destination_amount: 'number',
    destination_currency_code: patterns.currency,
    fee: 'number',
    status: payoutStatuses,
    status_reason: 'string',
    payer_name: 'string',
    pickup_code: 'string',
    source_token: patterns.uuid,
    destination_token: patterns.uuid,
    delivery_type: deliveryTypes,
    client_transfer_id: 'string',
    user_token: patterns.user,
  },
} as const satisfies Record<string, Shape | Record<string, unknown>>;

/** Asserts that every field has its type, and that nothing is null. */
export function assertShape(value: unknown, shape: Readonly<Record<string, unknown>>): void {
  assert.ok(isObject(value), 'an object');
  for (const [name, rule] of Object.entries(shape) as [string, Rule][]) {
    assert.ok(name in value, `${name} is missing`);
    assertRule(value[name], rule, name);
  }
  assertNoNull(value as Json, '');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof ExactNumber)
  );
}

function assertRule(value: unknown, rule: Rule, name: string): void {
  if (rule instanceof RegExp) assert.match(String(value), rule, name);
  if (rule instanceof RegExp || rule === 'string') assert.equal(typeof value, 'string', name);
  else if (rule === 'boolean') assert.equal(typeof value, 'boolean', name);
  else if (rule === 'array') assert.ok(Array.isArray(value), name);
  else if (rule === 'object') assert.ok(isObject(value), name);
  else if (typeof rule === 'string') {
    assert.ok(value instanceof ExactNumber, `${name} is a number`);
    if (rule === 'integer') assert.match(value.text, /^\d+$/, name);
  } else assert.ok(rule.includes(String(value)), `${name} is ${String(value)}`);
}

/** Asserts that amounts and rates are the shortest exact decimals. */
export function assertPlainDecimal(value: ExactNumber): void {
  assert.match(value.text, /^-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/);
}

export function assertNoNull(value: Json, at: string): void {
  assert.notEqual(value, null, `${at} is null`);
  if (value instanceof ExactNumber) assertPlainDecimal(value);
  else if (typeof value === 'object' && value !== null && !at.endsWith('/metadata')) {
    for (const [key, child] of Object.entries(value)) assertNoNull(child, `${at}/${key}`);
  }
}

export type Problem = {
  type: string;
  title: string;
  status: ExactNumber;
  detail: string;
  code: string;
  request_id: string;
  errors: { pointer?: string; parameter?: string; token?: string; code: string; detail: string }[];
};

/** What no answer may reveal: code, SQL, internals. */
const internals =
  /node_modules|\.ts:\d|\bat \S+ \(|\b(?:select|insert into|update|delete from)\s+\w+|postgres|pg_|ECONN|errno|undefined/i;

/** Asserts a complete problem answer of this status, and of this code if given. */
export function assertProblem(reply: Reply<unknown>, status: number, code?: string): Problem {
  assert.equal(reply.status, status, reply.text.slice(0, 500));
  assert.match(reply.headers['content-type'] ?? '', /^application\/problem\+json\b/);
  const problem = reply.body as Problem;
  for (const name of ['type', 'title', 'detail', 'code', 'request_id'] as const) {
    assert.equal(typeof problem[name], 'string', name);
    assert.notEqual(problem[name], '', name);
  }
  assert.equal(problem.status.text, String(status));
  assert.match(problem.code, /^[a-z][a-z0-9_]*$/);
  assert.ok(Array.isArray(problem.errors), 'errors');
  for (const fault of problem.errors) {
    assert.ok((fault.pointer === undefined) !== (fault.parameter === undefined), reply.text);
    if (fault.pointer !== undefined) assert.match(fault.pointer, /^(?:\/[^/]*)*$/);
    assert.match(fault.code, /^[a-z][a-z0-9_]*$/);
    assert.ok(fault.detail.length > 0);
  }
  assert.doesNotMatch(reply.text, internals);
  if (status === 401) assert.match(String(reply.headers['www-authenticate']), /^Bearer\b/);
  if (status === 405) assert.ok(reply.headers['allow'], 'Allow');
  if (status === 503 || status === 429) assert.ok(reply.headers['retry-after'], 'Retry-After');
  // The code of a single fault is that of the problem.
  if (problem.code === 'invalid_request') assert.notEqual(problem.errors.length, 1, reply.text);
  if (code !== undefined) assert.equal(problem.code, code, reply.text);
  return problem;
}

/** The pointers and parameters of the faults, sorted, without repetition. */
export function locate(problem: Problem): string[] {
  const places = problem.errors.map((fault) => fault.pointer ?? fault.parameter ?? '');
  return [...new Set(places)].toSorted();
}
