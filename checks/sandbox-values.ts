import type { Field } from '../server/src/attributes/field.ts';
import { type Corridor, getFields } from '../server/src/attributes/requirements.ts';
import {
  makeSampleSet,
  makeSampleValue,
  type Sample,
} from '../server/src/attributes/sample-values.ts';
import { listCountries } from '../server/src/core/country.ts';
import type { DeliveryType } from '../server/src/rails/contract/declarations.ts';
import {
  formatMagicRow,
  type MagicOutcome,
  type MagicRow,
  type MagicType,
  magicOutcomeMeanings,
  magicOutcomes,
  outcomeNames,
} from '../server/src/rails/sandbox/magic-rows.ts';

/**
 * The sandbox's documented values: one per outcome for every form of account number, telephone
 * number, document number and wallet address.
 */

/** For delivery types whose recipients collect the money. */
const pickupOutcomes = new Set<string>(
  Object.keys(magicOutcomes).filter((outcome) => outcome.startsWith('ready_')),
);

/** Arbitrary, because no magic value is a date. */
const today = '2026-01-01';

type Plan = {
  readonly destination: string;
  readonly deliveryTypes: readonly DeliveryType[];
  readonly corridor: Corridor;
  readonly type: MagicType;
};

function listBankPlans(): Plan[] {
  return listCountries().flatMap(({ code, currency }) =>
    [...new Set([currency, 'EUR', 'USD'])].map((one) => ({
      destination: `${code} ${one}`,
      deliveryTypes: ['BANK_DEPOSIT'] as const,
      corridor: { countryCode: code, deliveryType: 'BANK_DEPOSIT', currency: one } as const,
      type: 'BankAccountNumber' as const,
    })),
  );
}

function listWalletPlans(): Plan[] {
  return ['BTC', 'LTC', 'ETH', 'USDC'].map((currency) => ({
    destination: `* ${currency}`,
    deliveryTypes: ['CRYPTOCURRENCY'],
    corridor: { countryCode: 'USA', deliveryType: 'CRYPTOCURRENCY', currency },
    type: 'BankAccountNumber',
  }));
}

function listMobilePlans(): Plan[] {
  return listCountries().map(({ code, currency }) => ({
    destination: code,
    deliveryTypes: ['MOBILE_WALLET', 'HOME_DELIVERY', 'PAPER_CHECK'],
    corridor: { countryCode: code, deliveryType: 'MOBILE_WALLET', currency },
    type: 'PhoneNumber',
  }));
}

const countrylessPlans: readonly Plan[] = [
  {
    destination: '*',
    deliveryTypes: ['CASH_PICKUP'],
    corridor: { countryCode: 'USA', deliveryType: 'CASH_PICKUP', currency: 'USD' },
    type: 'IdentificationNumber',
  },
  {
    destination: '*',
    deliveryTypes: ['BILL'],
    corridor: { countryCode: 'USA', deliveryType: 'BILL', currency: 'USD' },
    type: 'BillReferenceNumber',
  },
];

function hasPickup(plan: Plan): boolean {
  return plan.deliveryTypes.some((one) => one === 'CASH_PICKUP' || one === 'PAPER_CHECK');
}

/** Whether the magic value can depend on the field, such as a bank code. */
function isCompanion(field: Field, type: MagicType): boolean {
  const { requirement } = field;
  if (requirement.isOptional || requirement.type === type || requirement.type === 'SWIFT') {
    return false;
  }
  return requirement.inputType === 'text' && !requirement.validation.includes('[^');
}

function makeRow(plan: Plan): MagicRow {
  const fields = getFields(plan.corridor);
  const { countryCode } = plan.corridor;
  const companionFields = fields.filter((one) => isCompanion(one, plan.type));
  const companions = makeSampleSet(companionFields, { seed: '771700', countryCode, today });
  const field = fields.find((one) => one.requirement.type === plan.type);
  if (field === undefined) throw new Error(`${plan.destination} has no ${plan.type}`);
  const values: Partial<Record<MagicOutcome, string>> = {};
  for (const [outcome, digits] of Object.entries(magicOutcomes)) {
    if (pickupOutcomes.has(outcome) && !hasPickup(plan)) continue;
    const sample: Sample = { seed: `7717${digits}`, countryCode, values: companions, today };
    const value = makeSampleValue(field, sample);
    values[outcome as MagicOutcome] = field.normalize?.(value) ?? value;
  }
  return {
    destinations: [plan.destination],
    deliveryTypes: plan.deliveryTypes,
    type: plan.type,
    companions: Object.fromEntries(companions),
    values,
  };
}

/** All rows; destinations with equal values share a row. */
function makeMagicRows(): MagicRow[] {
  const plans = [
    ...listBankPlans(),
    ...listWalletPlans(),
    ...countrylessPlans,
    ...listMobilePlans(),
  ];
  const rows = new Map<string, MagicRow>();
  for (const plan of plans) {
    const row = makeRow(plan);
    const key = JSON.stringify({ ...row, destinations: [] });
    const same = rows.get(key);
    const destinations = [...(same?.destinations ?? []), plan.destination];
    rows.set(key, { ...row, destinations });
  }
  return [...rows.values()];
}

/** The data file, with one row per line for readable diffs. */
function formatMagicData(rows: readonly MagicRow[]): string {
  return `${JSON.stringify(rows.map(formatMagicRow), null, 2)}
`;
}

const sections: readonly { title: string; deliveryType: DeliveryType }[] = [
  { title: 'Wallet addresses (`BankAccountNumber`)', deliveryType: 'CRYPTOCURRENCY' },
  { title: 'Cash pickup (`IdentificationNumber`, with a passport)', deliveryType: 'CASH_PICKUP' },
  { title: 'Bills (`BillReferenceNumber`)', deliveryType: 'BILL' },
  { title: 'Bank accounts (`BankAccountNumber`)', deliveryType: 'BANK_DEPOSIT' },
  {
    title: 'Mobile wallets, home delivery, paper checks (`PhoneNumber`)',
    deliveryType: 'MOBILE_WALLET',
  },
];

function describeDestinations(row: MagicRow): string {
  const { destinations } = row;
  if (destinations.length > 60) return 'every other country and currency (with its SWIFT/BIC)';
  return destinations.map((one) => one.replace(/^\* ?/, '')).join(', ') || 'every country';
}

function formatRow(row: MagicRow, outcomes: readonly MagicOutcome[]): string {
  const companions = Object.entries(row.companions).map(([type, value]) => `${type} \`${value}\``);
  const values = outcomes.map((outcome) => {
    const value = row.values[outcome];
    return value === undefined ? '' : `\`${value}\``;
  });
  return `| ${[describeDestinations(row), companions.join(', '), ...values].join(' | ')} |`;
}

function formatSection(title: string, rows: readonly MagicRow[]): string[] {
  const all = outcomeNames;
  const outcomes = all.filter((outcome) => rows.some((row) => row.values[outcome] !== undefined));
  const heads = ['Destination', 'Together with', ...outcomes.map((one) => `\`${one}\``)];
  return [
    `## ${title}`,
    '',
    `| ${heads.join(' | ')} |`,
    `|${heads.map(() => '---').join('|')}|`,
    ...rows.map((row) => formatRow(row, outcomes)),
    '',
  ];
}

/** `docs/sandbox-values.md`. */
function formatMagicDocument(rows: readonly MagicRow[]): string {
  const meanings = Object.entries(magicOutcomeMeanings);
  const lines = [
    '# Magic values of the sandbox',
    '',
    '<!-- Generated by checks/sandbox-values.ts; do not edit. -->',
    '',
    'In staging the attributes of the recipient script the outcome of a payout: store one of these',
    'values, and the simulated network produces the outcome of its column, every time. The values',
    'pass the same checks as any value; spaces, hyphens and case do not matter. No other value has a',
    'special meaning. If a row names other attributes, store their values too. Attributes with choices',
    'take any choice, and texts such as a bank name any text. None of this exists in live.',
    '',
    '| Outcome | What happens |',
    '|---|---|',
    ...meanings.map(([outcome, meaning]) => `| \`${outcome}\` | ${meaning} |`),
    '',
    ...sections.flatMap(({ title, deliveryType }) =>
      formatSection(
        title,
        rows.filter((row) => row.deliveryTypes.includes(deliveryType)),
      ),
    ),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

/** The sandbox's values as the files that hold them, by their paths in the repository. */
export function generateSandboxValues(): Map<string, string> {
  const rows = makeMagicRows();
  return new Map([
    ['server/src/rails/sandbox/magic-values.json', formatMagicData(rows)],
    ['docs/sandbox-values.md', formatMagicDocument(rows)],
  ]);
}
