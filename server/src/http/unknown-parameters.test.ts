import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../core/errors.ts';
import { listRoutes } from '../routes.ts';
import type { BaseServices, Route } from './route.ts';
import { checkInput } from './validation.ts';

/** The reads of the specification's section 4, and the pages behind links. */
const lenient = [
  'listBalances',
  'findCheapestDestinations',
  'readAttributes',
  'getPayout',
  'getLinkedReceipt',
  'showConfirmationPage',
  'showRecipientPage',
  'showVerificationPage',
  'getRecipientPageFile',
  'getLogoByVerificationLink',
  'getLogoByRecipientLink',
  'getReceiptByRecipientLink',
  'readRecipientPage',
  'getVerificationLinkStatus',
];

function readError(
  route: Route<BaseServices>,
  query: Record<string, string>,
): AppError | undefined {
  const { params: _params, ...withoutParams } = route;
  const none = { params: {}, body: undefined, contentType: undefined, contentEncoding: undefined };
  try {
    checkInput(withoutParams, { ...none, query }, {} as BaseServices);
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

const reads = listRoutes().filter(({ method }) => method === 'GET') as Route<BaseServices>[];

test('operations beyond the specification refuse unknown query parameters by name', () => {
  const strict = reads.filter(({ operationId }) => !lenient.includes(operationId));
  assert.ok(strict.length >= 15, String(strict.length));
  for (const route of strict) {
    const error = readError(route, { client_transfr_id: 'a', 'metadata.x': 'b' });
    assert.equal(error?.code, 'unknown_parameter', route.operationId);
    const faults = (error.options.faults ?? []).filter(({ code }) => code !== 'required');
    assert.deepEqual(
      faults.map(({ parameter, code }) => ({ parameter, code })),
      [
        { parameter: 'client_transfr_id', code: 'unknown_parameter' },
        { parameter: 'metadata.x', code: 'unknown_parameter' },
      ],
      route.operationId,
    );
    for (const { detail } of faults) assert.ok(!detail.includes('undefined'), detail);
  }
});

test("the specification's operations ignore unknown query parameters", () => {
  const named = reads.filter(({ operationId }) => lenient.includes(operationId));
  assert.equal(named.length, lenient.length);
  for (const route of named) {
    assert.equal(readError(route, { fields: 'all' }), undefined, route.operationId);
  }
});

test('the error names the parameters of the operation and all other faults', () => {
  const route = reads.find(({ operationId }) => operationId === 'listUserHistory');
  assert.ok(route !== undefined);
  const error = readError(route, { since: '2026-01-01', number_of_records: '0', status: 'HELD' });
  assert.equal(error?.code, 'unknown_parameter');
  assert.match(
    error.message,
    /^since is not a query parameter .* allows number_of_records, page, limit, /,
  );
  assert.match(error.message, /start_date, end_date.*metadata\[key\]/);
  const parameters = error.options.faults?.map(({ parameter }) => parameter);
  assert.deepEqual(parameters, ['since', 'number_of_records', 'status']);
});

test('a query with thousands of names gets a bounded list of faults', () => {
  const route = reads.find(({ operationId }) => operationId === 'listEvents');
  assert.ok(route !== undefined);
  const names = Array.from({ length: 5000 }, (_, index) => [`p${index}`, '']);
  const faults = readError(route, Object.fromEntries(names))?.options.faults ?? [];
  assert.equal(faults.length, 50);
});
