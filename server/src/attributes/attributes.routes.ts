import { z } from 'zod';
import { currencyPattern } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { formatToken } from '../core/ids.ts';
import type { DestinationServices } from '../destinations/destinations.routes.ts';
import { defineRoute, type Route } from '../http/route.ts';
import { nestedObject, objectAnswer } from '../http/schema.ts';
import { readUserToken } from '../users/users.routes.ts';
import {
  type AttributeGroup,
  type Destination,
  type ReadAttribute,
  readAttributes,
  type StoredSet,
  type StoreRequest,
  storeAttributes,
  storeAttributesInGroup,
} from './attributes.ts';
import { attributeTypes } from './field.ts';
import { describeJsonSchema } from './json-schema.ts';
import { alternativeAnswer, missingAnswer, writeAlternatives } from './missing.ts';

export type AttributeServices = DestinationServices & {
  readonly attributeGroup: AttributeGroup;
  /** The link to a user's verification session: the value of IDSelfieCollection. */
  createVerificationLink(user: {
    accountId: string;
    userId: string;
    baseUrl: string;
  }): Promise<string>;
};

const attributeAnswer = z
  .object({
    token: z.string(),
    attr_set_token: z.string().describe('"" if no values are stored'),
    label: z.string().describe('For a wallet address, it names the network'),
    validation: z.string().describe('RE2 pattern that the whole value must match'),
    is_optional: z.boolean(),
    value: z.string(),
    expected_value: z.string(),
    type: z.enum(attributeTypes),
    input_type: z.enum(['text', 'options', 'date']),
    last_attr_value_used: z.boolean(),
    alternatives: z
      .array(alternativeAnswer)
      .describe('The options that need it, of which one per group must be complete. Usually empty'),
  })
  .meta({ id: 'Attribute' });

const storeRequest = z
  .object({
    values: z
      .array(nestedObject(z.object({ token: z.string().max(100), value: z.string().max(1000) })))
      .min(1)
      .max(50),
    attr_set_token: z
      .string()
      .max(100)
      .optional()
      .describe(
        'The set that gets a new version. Without it, a set with equal values or a new one',
      ),
  })
  .meta({ id: 'AttributeValues' });

const storedAnswer = z
  .object({
    attr_set_token: z.string(),
    missing: z
      .array(missingAnswer)
      .describe('What a payout to this destination still needs; empty if the set is complete'),
    values: z
      .array(z.object({ token: z.string(), value: z.string() }))
      .describe('All values of the set as they are stored, in their normalized form'),
  })
  .meta({ id: 'StoredAttributes' });

function writeStored({ setId, missing, values }: StoredSet): z.infer<typeof storedAnswer> {
  const token = formatToken('attributeSet', setId);
  return { attr_set_token: token, missing: [...missing], values: [...values] };
}

export const attributeParams = z.object({
  user_token: z.string(),
  destination_token: z.string(),
  currency: z.string().meta({ jsonSchema: { type: 'string', pattern: currencyPattern.source } }),
});

const path = '/attribute/{user_token}/{destination_token}/{currency}';

/** @throws AppError not_found (destination), invalid_request (currency). */
export function readDestination(
  env: Pick<DestinationServices, 'catalog'>,
  params: Pick<z.infer<typeof attributeParams>, 'destination_token' | 'currency'>,
): Destination {
  const payer = env.catalog.findPayer(params.destination_token);
  if (payer === undefined) throw new AppError('not_found', 'Destination not found');
  if (currencyPattern.test(params.currency) && payer.currencies.includes(params.currency)) {
    return { payer, currency: params.currency };
  }
  const detail = `currency must be one of ${payer.currencies.join(', ')}`;
  throw new AppError('invalid_request', detail, {
    faults: [{ parameter: 'currency', code: 'currency_not_delivered', detail }],
  });
}

function writeAttribute(attribute: ReadAttribute): z.infer<typeof attributeAnswer> {
  return {
    token: attribute.token,
    attr_set_token: attribute.attrSetToken,
    label: attribute.label,
    validation: attribute.validation,
    is_optional: attribute.isOptional,
    value: attribute.value,
    expected_value: attribute.expectedValue,
    type: attribute.type,
    input_type: attribute.inputType,
    last_attr_value_used: attribute.isLastValueUsed,
    alternatives: writeAlternatives(attribute),
  };
}

export function attributeRoutes(): Route<AttributeServices>[] {
  return [readRoute(), schemaRoute(), storeRoute()];
}

function readRoute(): Route<AttributeServices> {
  return defineRoute({
    method: 'GET',
    path,
    isVersioned: true,
    operationId: 'readAttributes',
    tag: 'Attributes',
    summary: 'Read the attributes that a destination needs',
    description:
      'With the values of the set that a payout without `attr_set_token` uses: the newest complete set, else the newest. The value of `IDSelfieCollection` is a link through which images can be uploaded, so it is given to credentials with `kyc:write` only; others get "".',
    access: 'users:read',
    params: attributeParams,
    unknownParameters: 'ignored',
    response: z.array(attributeAnswer),
    refusals: [404],
    handle: async ({ env, accountId, principal, request }, { params }) => {
      const userId = readUserToken(params.user_token);
      const mayUpload = principal.scopes.has('kyc:write');
      const attributes = await readAttributes(
        { session: env.db.tenant(accountId), keys: env.keys, accountId },
        {
          userId,
          destination: readDestination(env, params),
          createLink: async () =>
            mayUpload
              ? env.createVerificationLink({ accountId, userId, baseUrl: request.baseUrl })
              : '',
        },
      );
      return attributes.map(writeAttribute);
    },
  });
}

function schemaRoute(): Route<AttributeServices> {
  return defineRoute({
    method: 'GET',
    path: `${path}/schema`,
    isVersioned: true,
    operationId: 'readAttributeSchema',
    tag: 'Attributes',
    summary: 'Read the attributes that a destination needs as JSON Schema',
    description:
      'JSON Schema 2020-12 of an object with one property per attribute token, for a form library: `values` of the request that stores them are its entries. A group of options is an `anyOf`. Stored values are defaults.',
    access: 'users:read',
    params: attributeParams,
    response: objectAnswer,
    refusals: [404],
    handle: async ({ env, accountId }, { params }) => {
      const destination = readDestination(env, params);
      const attributes = await readAttributes(
        { session: env.db.tenant(accountId), keys: env.keys, accountId },
        { userId: readUserToken(params.user_token), destination, createLink: async () => '' },
      );
      return describeJsonSchema(attributes, `${destination.payer.name}, ${destination.currency}`);
    },
  });
}

function storeRoute(): Route<AttributeServices> {
  return defineRoute({
    method: 'POST',
    path,
    isVersioned: true,
    operationId: 'storeAttributes',
    tag: 'Attributes',
    summary: 'Store attribute values',
    description:
      'Every fault is reported at once. A partial set is stored, and `missing` says what it lacks.',
    access: 'users:write',
    params: attributeParams,
    body: storeRequest,
    response: storedAnswer,
    refusals: [404],
    handle: ({ env, accountId, write }, { params, body }) => {
      const userId = readUserToken(params.user_token);
      const destination = readDestination(env, params);
      const today = new Date(env.clock.nowMs()).toISOString().slice(0, 10);
      const store: StoreRequest = {
        userId,
        destination,
        values: body.values,
        attrSetToken: body.attr_set_token === '' ? undefined : body.attr_set_token,
        today,
      };
      const { keys } = env;
      return write(
        async (session) => writeStored(await storeAttributes({ session, keys, accountId }, store)),
        {
          aboutUser: userId,
          tryGrouped: (builder) =>
            storeAttributesInGroup(
              { keys, accountId, group: env.attributeGroup },
              store,
              (dataKey, stored) =>
                builder.prepare(
                  (setId: string) => writeStored({ setId, ...stored }),
                  () => ({ userId, dataKey }),
                ),
            ),
        },
      );
    },
  });
}
