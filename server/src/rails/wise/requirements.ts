import { createHash } from 'node:crypto';
import { RE2JS } from 're2js';
import { z } from 'zod';
import type { CallContext, RailHost } from '../contract/contract.ts';
import { openRecords } from '../kit/records.ts';
import type { Api, ApiResult } from './api.ts';
import { type RequirementField, type RequirementForm, requirementFormsSchema } from './protocol.ts';
import { type Recipient, readField } from './recipient-fields.ts';

/**
 * Dynamic account requirements: Wise says for a quote which fields a recipient account must have, and
 * says more when fields with `refreshRequirementsOnChange` have got their values. Our attributes fill
 * the fields; the forms of a route are kept for a while, and numbered by their content.
 */

/** The body of POST /v1/accounts without the profile; keys of `details` may have one dot. */
export type RecipientDetails = {
  readonly type: string;
  readonly accountHolderName: string;
  readonly details: Readonly<Record<string, unknown>>;
};

export type FilledForm =
  | { readonly kind: 'filled'; readonly details: RecipientDetails }
  /** A key that cannot be filled, or whose value does not have the form's form. */
  | { readonly kind: 'unfit'; readonly field: string }
  | { readonly kind: 'failed'; readonly result: Exclude<ApiResult<never>, { kind: 'answered' }> };

export type Requirements = {
  fillIn(
    route: { readonly quoteId: string; readonly sourceCurrency: string },
    recipient: Recipient,
    context: CallContext,
  ): Promise<FilledForm>;
};

/** Each round asks for what the values of the round before require. */
const roundsMax = 6;

/** Version 1.1 has the name and e-mail of the recipient among the fields. */
export const minorVersion = { 'accept-minor-version': '1' };

type Cached = { readonly forms: readonly RequirementForm[]; readonly untilMs: number };

export function createRequirements(
  { api, host }: { readonly api: Api; readonly host: RailHost },
  keepMs: number,
): Requirements {
  const cache = new Map<string, Cached>();
  const read = async (key: string, ask: () => Promise<ApiResult<RequirementForm[]>>) => {
    const known = cache.get(key);
    if (known !== undefined && known.untilMs > host.realNowMs()) {
      return { kind: 'answered', value: known.forms } as const;
    }
    const answer = await ask();
    if (answer.kind !== 'answered') return answer;
    if (cache.size >= cacheMax) cache.clear();
    cache.set(key, { forms: answer.value, untilMs: host.realNowMs() + keepMs });
    return answer;
  };
  return {
    fillIn: async ({ quoteId, sourceCurrency }, recipient, context) => {
      const path = `/v1/quotes/${quoteId}/account-requirements`;
      const { payer, currency } = recipient;
      const route = `${payer.key}:${sourceCurrency}:${currency}`;
      let answer = await read(route, async () => {
        const fresh = await api(
          { method: 'GET', path, headers: minorVersion },
          requirementFormsSchema,
          context,
        );
        if (fresh.kind === 'answered') await keepVersion(host, route, fresh.value);
        return fresh;
      });
      let asked = route;
      for (let round = 0; round < roundsMax; round += 1) {
        if (answer.kind !== 'answered') return { kind: 'failed', result: answer };
        const form = chooseForm(answer.value, recipient);
        if (form === undefined) return { kind: 'unfit', field: 'type' };
        const key = nameRound(route, form, recipient);
        const filled = fillForm(form, recipient);
        if (key === undefined || key === asked) return filled;
        asked = key;
        const body = { currency, ...draftDetails(form, recipient) };
        answer = await read(key, () =>
          api(
            { method: 'POST', path, headers: minorVersion, body },
            requirementFormsSchema,
            context,
          ),
        );
      }
      return { kind: 'unfit', field: 'refreshRequirementsOnChange' };
    },
  };
}

/** Forms in memory; more routes than this are read again. */
const cacheMax = 1000;

export function listFields(form: RequirementForm): readonly RequirementField[] {
  return form.fields.flatMap(({ group }) => group);
}

/** The type that the payer names; otherwise the first one whose required fields can be filled. */
export function chooseForm(
  forms: readonly RequirementForm[],
  recipient: Recipient,
): RequirementForm | undefined {
  const named = recipient.payer.options['recipientType'];
  if (named !== undefined) return forms.find(({ type }) => type === named);
  return forms.find((form) => fillForm(form, recipient).kind === 'filled') ?? forms[0];
}

/** The values that change the form; undefined where none does. Countries and types, nothing personal. */
function nameRound(route: string, form: RequirementForm, recipient: Recipient): string | undefined {
  const refreshing = listFields(form)
    .filter(({ refreshRequirementsOnChange }) => refreshRequirementsOnChange)
    .map((field) => `${field.key}=${readValue(field, recipient) ?? ''}`);
  if (refreshing.length === 0) return undefined;
  const digest = createHash('sha256').update(refreshing.toSorted().join('\n')).digest('hex');
  return `${route}:${form.type}:${digest}`;
}

function draftDetails(form: RequirementForm, recipient: Recipient): RecipientDetails {
  const values = new Map<string, string>();
  for (const field of listFields(form)) {
    const value = readValue(field, recipient) ?? '';
    if (value !== '') values.set(field.key, value);
  }
  return nestDetails(form.type, values);
}

/** Every required field with a valid value, and the optional ones that we have one for. */
export function fillForm(form: RequirementForm, recipient: Recipient): FilledForm {
  const values = new Map<string, string>();
  for (const field of listFields(form)) {
    const value = readValue(field, recipient) ?? '';
    if (value !== '' && isValid(field, value)) values.set(field.key, value);
    else if (field.required) return { kind: 'unfit', field: field.key };
  }
  const name = readField('accountHolderName', recipient)?.value ?? '';
  if (name === '') return { kind: 'unfit', field: 'accountHolderName' };
  // The name is always a member of the account; version 1 of the forms has no field for it.
  values.set('accountHolderName', values.get('accountHolderName') ?? name);
  return { kind: 'filled', details: nestDetails(form.type, values) };
}

function readValue(field: RequirementField, recipient: Recipient): string | undefined {
  const value = readField(field.key, recipient)?.value;
  if (value === undefined || field.valuesAllowed === undefined) return value;
  // `CHECKING` is `checking` in some forms.
  const wanted = value.toLowerCase();
  return field.valuesAllowed.find(({ key }) => key.toLowerCase() === wanted)?.key ?? '';
}

function isValid(field: RequirementField, value: string): boolean {
  const { minLength, maxLength, validationRegexp } = field;
  if (minLength !== undefined && value.length < minLength) return false;
  if (maxLength !== undefined && value.length > maxLength) return false;
  if (validationRegexp === undefined || validationRegexp === '') return true;
  try {
    // Linear time, for every pattern.
    return RE2JS.compile(validationRegexp).matcher(value).find();
  } catch {
    // A pattern in another dialect: Wise checks the value when it gets it.
    return true;
  }
}

/** `address.city` becomes a member of `address`; the name stands beside `details`. */
function nestDetails(type: string, values: ReadonlyMap<string, string>): RecipientDetails {
  const details: Record<string, unknown> = {};
  const nested = new Map<string, Record<string, string>>();
  for (const [key, value] of values) {
    if (key === 'accountHolderName') continue;
    const [outer = key, inner] = key.split('.');
    if (inner === undefined) {
      details[outer] = value;
      continue;
    }
    const members = nested.get(outer) ?? {};
    members[inner] = value;
    nested.set(outer, members);
    details[outer] = members;
  }
  return { type, accountHolderName: values.get('accountHolderName') ?? '', details };
}

const versionSchema = z.object({ digest: z.string(), version: z.int() });

/** Numbers the forms of a route, so that a change of Wise's requirements is seen in the log. */
async function keepVersion(
  host: RailHost,
  route: string,
  forms: readonly RequirementForm[],
): Promise<void> {
  const digest = createHash('sha256').update(JSON.stringify(forms)).digest('hex').slice(0, 32);
  const records = openRecords(host.store, {
    collection: 'requirements',
    states: ['read'],
    value: versionSchema,
  });
  const { record, isChanged } = await records.update(route, (known) =>
    known?.value.digest === digest
      ? undefined
      : { state: 'read', value: { digest, version: (known?.value.version ?? 0) + 1 } },
  );
  if (!isChanged || record.value.version === 1) return;
  const { version } = record.value;
  host.log('warn', 'Wise has changed the account requirements of a route', { route, version });
}

/** A required field of the transfer that the operator's details leave out or do not fill validly. */
export function findUnfilledTransferField(
  forms: readonly RequirementForm[],
  details: Readonly<Record<string, string>>,
): string | undefined {
  for (const field of forms.flatMap(listFields)) {
    const value = details[field.key] ?? '';
    const isPermitted =
      field.valuesAllowed === undefined || field.valuesAllowed.some(({ key }) => key === value);
    if (value === '' ? field.required : !isPermitted || !isValid(field, value)) return field.key;
  }
  return undefined;
}
