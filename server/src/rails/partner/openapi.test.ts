import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import { z } from 'zod';
import { recipientReasons } from '../contract/reasons.ts';
import {
  batchItemSchema,
  batchLimitsSchema,
  batchResultSchema,
  paymentBatchSchema,
} from './batch-protocol.ts';
import {
  accountCheckResultSchema,
  accountCheckSchema,
  balancesSchema,
  capabilitiesSchema,
  partnerPriceSchema,
  pricesSchema,
} from './capability-protocol.ts';
import {
  beneficiarySchema,
  cancelOrderSchema,
  chargeSchema,
  eventPageSchema,
  eventSchema,
  healthSchema,
  paymentOrderSchema,
  paymentSchema,
  readReason,
  refusalCodes,
  refusalSchema,
  refusalStatus,
  returnSchema,
} from './protocol.ts';
import { requirementSchema } from './required-fields.ts';

type Tree = { [key: string]: Tree } & { readonly $ref?: string; readonly example?: unknown };

const document = parse(
  readFileSync(new URL('../../../../docs/partner-openapi.yaml', import.meta.url), 'utf8'),
) as Tree;

const schemas = {
  PaymentOrder: paymentOrderSchema,
  Beneficiary: beneficiarySchema,
  CancelOrder: cancelOrderSchema,
  Payment: paymentSchema,
  Charge: chargeSchema,
  Return: returnSchema,
  Event: eventSchema,
  EventPage: eventPageSchema,
  Refusal: refusalSchema,
  Health: healthSchema,
  Capabilities: capabilitiesSchema,
  Requirement: requirementSchema,
  BatchLimits: batchLimitsSchema,
  PaymentBatch: paymentBatchSchema,
  BatchResult: batchResultSchema,
  BatchItem: batchItemSchema,
  AccountCheck: accountCheckSchema,
  AccountCheckResult: accountCheckResultSchema,
  Balances: balancesSchema,
  Prices: pricesSchema,
  Price: partnerPriceSchema,
};

/** Follows references and leaves out what is said to readers only. */
function simplify(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(simplify);
  if (value === null || typeof value !== 'object') return value;
  const { $ref } = value as Tree;
  if ($ref !== undefined) return simplify(find($ref));
  const entries = Object.entries(value)
    .filter(([key, entry]) => !(annotations.has(key) && typeof entry !== 'object'))
    .filter(([key]) => !['examples', '$schema'].includes(key))
    .map(([key, entry]) => [key, key === 'required' ? (entry as string[]).toSorted() : entry])
    .map(([key, entry]) => [key, simplify(entry)]);
  return Object.fromEntries(entries);
}
const annotations = new Set(['description']);

function find(reference: string): unknown {
  const path = reference.replace(/^#\//, '').split('/');
  return path.reduce<Tree | undefined>((tree, part) => tree?.[part], document);
}

for (const [name, schema] of Object.entries(schemas)) {
  test(`the document describes ${name} as the code reads it`, () => {
    const written = simplify({ $ref: `#/components/schemas/${name}` }) as Tree;
    // The code reads a page's events and a batch's orders one by one.
    const list = { EventPage: 'events', BatchResult: 'orders' }[name];
    if (list !== undefined) Object.assign(written['properties']?.[list] ?? {}, { items: {} });
    const read = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
    assert.deepEqual(written, simplify(read));
  });
}

test('every example of the document is one that the code takes', () => {
  const examples: [string, unknown][] = [];
  const collect = (value: unknown): void => {
    if (value === null || typeof value !== 'object') return;
    const { schema, example } = value as Tree;
    const name = schema?.$ref?.split('/').at(-1);
    if (name !== undefined && example !== undefined) examples.push([name, example]);
    Object.values(value).forEach(collect);
  };
  collect(document);
  assert.equal(examples.length > 8, true);
  for (const [name, example] of examples) {
    const schema = schemas[name as keyof typeof schemas];
    assert.deepEqual(schema.safeParse(example).error?.issues ?? [], [], name);
  }
});

test('each refusal has the status that the document gives it', () => {
  const responses = (document['components']?.['responses'] ?? {}) as { [name: string]: Tree };
  for (const code of refusalCodes) {
    const [name] =
      Object.entries(responses).find(([, response]) => {
        const content = response['content']?.['application/json'] as { example?: object };
        const example = content.example as { error?: string };
        return example.error === code;
      }) ?? [];
    const used = JSON.stringify(document['paths']).includes(
      `"${refusalStatus[code]}":{"$ref":"#/components/responses/${name}"}`,
    );
    assert.equal(used, true, code);
  }
});

test('the document lists words that are understood, those about the recipient among them', () => {
  const { description } = find('#/components/schemas/ReasonWord') as { description: string };
  const words = [...description.matchAll(/`([a-z_]+)`/g)].map(([, word = '']) => word);
  for (const word of words) assert.equal(readReason(word, 'busy'), word);
  for (const reason of recipientReasons) assert.equal(words.includes(reason), true, reason);
});
