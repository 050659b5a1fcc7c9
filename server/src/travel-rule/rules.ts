import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { findCountry } from '../core/country.ts';
import { describeReadFault } from '../core/read-fault.ts';
import { readUsdMinor } from '../destinations/pricing.ts';
import type { Beneficiary, RecipientFault, Sender } from '../rails/contract/contract.ts';
import { deliveryTypes } from '../rails/contract/declarations.ts';

/**
 * What the law wants to know of sender and recipient before money moves (FATF recommendation 16;
 * Regulation (EU) 2023/1113; 31 CFR 1010.410), by corridor and value. Nothing is filled in: what is
 * missing keeps a payout from being committed, and from being sent.
 */

const dollars = z.string().transform((text, context) => {
  const minor = readUsdMinor(text);
  if (minor === undefined) {
    const message = 'must be an amount in USD as text, such as "1000.00"';
    context.addIssue({ code: 'custom', message });
  }
  return minor ?? 0n;
});

/** `town`: country and city. `address`: the street too. */
const senderParts = ['name', 'town', 'address', 'registration'] as const;
const recipientParts = ['name', 'town', 'address', 'dateOfBirth'] as const;
type SenderPart = (typeof senderParts)[number];
type RecipientPart = (typeof recipientParts)[number];

const country = z.string().refine((code) => findCountry(code) !== undefined, {
  error: 'must be a country code of three letters, such as DEU',
});

const rule = z.strictObject({
  /** Named in faults: `eu_transfers`. */
  name: z.string().regex(/^[a-z][a-z0-9_]{0,39}$/, 'must be a to z, digits and _, at most 40'),
  /** Without it, all. */
  deliveryTypes: z.array(z.enum(deliveryTypes)).min(1).optional(),
  /** To which the money goes; without it, all. */
  countries: z.array(country).min(1).optional(),
  /** What the recipient gets, at the present rate; a payout of exactly this value is not meant. */
  aboveUsd: dollars.optional(),
  sender: z.array(z.enum(senderParts)).default([]),
  recipient: z.array(z.enum(recipientParts)).default([]),
  /** Whether the provider has to accept both before anything is sent. */
  passOn: z.boolean().default(false),
});

const fileSchema = z
  .strictObject({ rules: z.array(rule).min(1).max(50) })
  .refine(({ rules }) => new Set(rules.map(({ name }) => name)).size === rules.length, {
    error: 'each rule must have a name of its own',
  });

export type TravelRule = z.output<typeof rule>;

/** @throws Error with every fault of the operator's file. */
export function readTravelRules(path: string): readonly TravelRule[] {
  let written: unknown;
  try {
    written = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new Error(describeReadFault(path, cause), { cause });
  }
  const parsed = fileSchema.safeParse(written);
  if (parsed.success) return parsed.data.rules;
  const faults = parsed.error.issues.map(({ path: at, message }) =>
    at.length === 0 ? message : `${at.map(String).join('.')}: ${message}`,
  );
  throw new Error(`${path}: ${faults.join('; ')}`);
}

export type Transfer = {
  readonly countryCode: string;
  readonly deliveryType: (typeof deliveryTypes)[number];
  /** Cents of USD; undefined without a rate: every threshold counts as exceeded. */
  readonly usdMinor: bigint | undefined;
};

/** The rules that apply to a transfer. */
export function selectRules(rules: readonly TravelRule[], transfer: Transfer): TravelRule[] {
  const { countryCode, deliveryType, usdMinor } = transfer;
  return rules.filter(
    (one) =>
      (one.deliveryTypes?.includes(deliveryType) ?? true) &&
      (one.countries?.includes(countryCode) ?? true) &&
      (one.aboveUsd === undefined || usdMinor === undefined || usdMinor > one.aboveUsd),
  );
}

/** The fields of each part. No recipient is without name and country. */
const recipientFields = {
  name: [],
  town: ['city'],
  address: ['address1', 'city'],
  dateOfBirth: ['dateOfBirth'],
} as const satisfies Record<RecipientPart, readonly (keyof Beneficiary)[]>;

const senderFields: Readonly<Record<SenderPart, readonly (keyof Sender)[]>> = {
  name: ['legalName'],
  town: ['city', 'countryCode'],
  address: ['address1', 'city', 'countryCode'],
  registration: ['registrationId'],
};

const apiNames = { city: 'city', address1: 'address1', dateOfBirth: 'date_of_birth' } as const;

/** All that sender and recipient lack of what the rules ask for. */
export function listLacking(
  rules: readonly TravelRule[],
  { sender, beneficiary }: { sender: Sender | undefined; beneficiary: Beneficiary },
): RecipientFault[] {
  const missing = new Map<string, string>();
  let senderFault: RecipientFault | undefined;
  for (const { name, ...asked } of rules) {
    const isBusiness = beneficiary.businessName !== '';
    for (const part of asked.recipient) {
      // A business has none.
      if (part === 'dateOfBirth' && isBusiness) continue;
      for (const field of recipientFields[part]) {
        if (beneficiary[field] === '') missing.set(apiNames[field], name);
      }
    }
    const lacks = asked.sender.flatMap((part) => senderFields[part]);
    if (lacks.some((field) => (sender?.[field] ?? '') === '')) {
      senderFault ??= {
        field: 'sender',
        code: 'sender_incomplete',
        detail: `the rule ${name} needs data of the sender that the operator has not stored`,
      };
    }
  }
  const faults = [...missing].map(
    ([field, name]): RecipientFault => ({
      field,
      code: 'missing',
      detail: `the rule ${name} needs it for a payout of this kind and value`,
    }),
  );
  return senderFault === undefined ? faults : [...faults, senderFault];
}
