import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { AppError, type Fault } from '../core/errors.ts';
import { listRoutes } from '../routes.ts';
import type { BaseServices, Route } from './route.ts';
import { checkInput } from './validation.ts';

const routes = listRoutes() as Route<BaseServices>[];

function findFaults(operationId: string, given: { query?: object; body?: object }): Fault[] {
  const { params: _params, ...route } = routes.find((one) => one.operationId === operationId) ?? {
    params: undefined,
  };
  const body = given.body === undefined ? undefined : Buffer.from(JSON.stringify(given.body));
  const raw = { params: {}, query: given.query ?? {}, body, contentEncoding: undefined };
  // The date of the environment counts for faults of the body that are not of the schema.
  const env = { clock: { nowMs: () => 0 } } as unknown as BaseServices;
  try {
    checkInput(route as Route<BaseServices>, { ...raw, contentType: 'application/json' }, env);
    return [];
  } catch (error) {
    if (error instanceof AppError) return [...(error.options.faults ?? [])];
    throw error;
  }
}

const detailsOf = (faults: readonly Fault[]): string[] => faults.map(({ detail }) => detail);

test('a value of the wrong form is told the accepted form', () => {
  const user = {
    internal_user_id: 'seller 1',
    email: 'x',
    first_name: 'A',
    last_name: 'B',
    country: 'MEX',
    mobile_number: 'abc',
    language: 'EN',
  };
  assert.deepEqual(detailsOf(findFaults('createUser', { body: user })), [
    'internal_user_id must have 1 to 75 letters, digits and + , - . / _ ~ |',
    'email must be an email address',
    'mobile_number must be 5 to 20 digits',
    'language must be an ISO 639-1 code: two lower-case letters',
  ]);
  assert.deepEqual(detailsOf(findFaults('listEvents', { query: { after: '-1', wait: '61' } })), [
    'after must be the sequence of an event, up to 18 digits',
    'wait must be a whole number of seconds from 0 to 60',
  ]);
  assert.deepEqual(detailsOf(findFaults('getStatement', { query: { month: '2026-13' } })), [
    'month must be a month, YYYY-MM',
  ]);
});

test('a parameter that is given twice is told so', () => {
  const [fault] = findFaults('listUsers', { query: { number_of_records: ['5', '6'] } });
  assert.deepEqual(fault, {
    parameter: 'number_of_records',
    code: 'duplicate',
    detail: 'number_of_records must be given once',
  });
  const [flag] = findFaults('getPayout', { query: { include_payer_logo: ['true', 'true'] } });
  assert.deepEqual(flag, {
    parameter: 'include_payer_logo',
    code: 'duplicate',
    detail: 'include_payer_logo must be given once',
  });
});

test('every form of every request has words of its own', () => {
  const wordless: string[] = [];
  let formats = 0;
  for (const { operationId, params, query, body } of routes) {
    for (const schema of [params, query, body]) {
      if (schema === undefined) continue;
      visitFormats(schema, operationId, (place, { error }) => {
        formats += 1;
        if (error === undefined) wordless.push(place);
      });
    }
  }
  assert.ok(formats >= 15, String(formats));
  assert.deepEqual(wordless, []);
});

/** Where zod keeps what a schema or a check was made from. */
const readDefinition = (made: object): unknown => Reflect.get(Reflect.get(made, '_zod'), 'def');

type Definition = {
  checks?: object[];
  shape?: Record<string, z.core.$ZodType>;
  options?: z.core.$ZodType[];
};

const inner = ['in', 'out', 'innerType', 'element', 'valueType'];

function visitFormats(
  schema: z.core.$ZodType,
  place: string,
  visit: (place: string, format: z.core.$ZodCheckDef) => void,
): void {
  const definition = readDefinition(schema) as Definition;
  for (const check of definition.checks ?? []) {
    const format = readDefinition(check) as z.core.$ZodCheckDef;
    if (format.check === 'string_format') visit(place, format);
  }
  for (const [name, field] of Object.entries(definition.shape ?? {})) {
    visitFormats(field, `${place}.${name}`, visit);
  }
  for (const option of definition.options ?? []) visitFormats(option, place, visit);
  for (const name of inner) {
    const part: unknown = Reflect.get(definition, name);
    if (part instanceof z.ZodType) visitFormats(part, place, visit);
  }
}
