import type { Call, Exchange } from './partner.ts';
import { Skip, Violation } from './violation.ts';

/** The optional parts of the protocol, as the partner announces them. */

export type Requirement = {
  readonly payers?: readonly string[];
  readonly countries?: readonly string[];
  readonly currencies?: readonly string[];
  readonly fields: readonly string[];
};

export type Capabilities = {
  readonly capabilities: readonly string[];
  readonly required_fields?: readonly Requirement[];
  readonly batch_limits?: { readonly orders_max?: unknown; readonly bytes_max?: unknown };
};

export const capabilitiesCall: Call = { method: 'GET', path: '/capabilities' };

/** @throws Skip where the partner has none. */
export function expectCapabilities({ status, json, fault }: Exchange): Capabilities {
  if (status === 400 || status === 404) throw new Skip('the partner announces no capabilities');
  if (status !== 200) throw new Violation(`expected status 200, not ${status}`);
  if (fault !== undefined) throw new Violation(`the answer does not count: ${fault}`);
  const given = json as Partial<Capabilities> | null | undefined;
  if (!isTexts(given?.capabilities)) throw new Violation('capabilities must be a list of texts');
  const required: unknown = given.required_fields ?? [];
  if (!Array.isArray(required) || !required.every(isRequirement)) {
    throw new Violation('required_fields must be a list, each entry with a list "fields"');
  }
  return given as Capabilities;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function isRequirement(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { payers = [], countries = [], currencies = [], fields } = value as Partial<Requirement>;
  return [payers, countries, currencies, fields].every(isTexts) && (fields ?? []).length > 0;
}

/** The fields that are required of an order. */
export function selectFields(
  { required_fields: required = [] }: Capabilities,
  { payer, country, currency }: { payer: string; country: string; currency: string },
): readonly string[] {
  const applying = required.filter(
    ({ payers, countries, currencies }) =>
      (payers?.includes(payer) ?? true) &&
      (countries?.includes(country) ?? true) &&
      (currencies?.includes(currency) ?? true),
  );
  return [...new Set(applying.flatMap(({ fields }) => fields))];
}

/** @throws Skip where the partner does not announce it. */
export async function needCapability(
  trial: { readCapabilities(): Promise<Capabilities> },
  name: string,
): Promise<void> {
  const { capabilities } = await trial.readCapabilities();
  if (!capabilities.includes(name)) throw new Skip(`"${name}" is not announced`);
}
