import { z } from 'zod';
import type { ExclusiveResource } from '../contract/contract.ts';
import { isRoutingNumber } from './aba.ts';
import { lastSameDayDeadline } from './banking-days.ts';

/** The agreement of an operator with its originating bank (ODFI). */

const timeOfDay = z.string().regex(/^(?:[01][0-9]|2[0-3]):[0-5][0-9]$/, 'must be a time HH:MM');
const ascii = (lengthMax: number) =>
  z
    .string()
    .min(1)
    .max(lengthMax)
    .regex(/^[ -~]+$/, 'must be printable ASCII');
const routingNumber = z
  .string()
  .refine(isRoutingNumber, 'must be a routing number: nine digits with a valid check digit');
const accountNumber = z.string().regex(/^[0-9A-Za-z-]{1,17}$/);
const decimal = z
  .string()
  .regex(/^[0-9]{1,8}(?:\.[0-9]{2})?$/, 'must be an amount such as 1000000.00');

const windowSchema = z
  .strictObject({ closesAt: timeOfDay, deadline: timeOfDay, sameDay: z.boolean() })
  .refine(
    ({ closesAt, deadline }) => closesAt < deadline,
    'a window must close before its deadline',
  )
  .refine(
    ({ deadline, sameDay }) => !sameDay || deadline <= lastSameDayDeadline,
    `a same-day window must have a deadline of ${lastSameDayDeadline} New York time or earlier: the Federal Reserve takes no same-day file later`,
  );

/** The asterisk and the backslash end a part of a field in IAT addenda. */
const addressPart = (lengthMax: number) =>
  ascii(lengthMax).regex(/^[^*\\]+$/, 'must not contain an asterisk or a backslash');

const partySchema = z.strictObject({
  name: addressPart(35),
  street: addressPart(35),
  city: addressPart(29),
  /** Two letters for the United States. */
  stateProvince: addressPart(4),
  postalCode: addressPart(30),
  /** ISO 3166-1 alpha-2. */
  country: z.string().regex(/^[A-Z]{2}$/),
});

const notConfigured = z
  .never({ error: 'must be removed: each entry says whether its own parties were screened' })
  .optional();

const iatSchema = z.strictObject({
  /** The gateway operator that forwards entries abroad, by the bank's agreement. */
  gatewayRoutingNumber: routingNumber,
  /** The originator for the travel rule; `originators` names others by account id. */
  originator: partySchema,
  originators: z.record(z.string().max(100), partySchema).default({}),
  /** Kind of payment: business, remittance, salary, tax and others of the rules. */
  transactionType: z
    .enum(['ANN', 'BUS', 'DEP', 'LOA', 'MIS', 'MOR', 'PEN', 'REM', 'RLS', 'SAL', 'TAX'])
    .default('REM'),
  // Not a setting: an operator cannot claim it for all payments.
  gatewayScreening: notConfigured,
  secondaryScreening: notConfigured,
});

export const nachaConfigSchema = z.strictObject({
  odfi: z.strictObject({
    routingNumber,
    name: ascii(23),
    /** The destination in the file header; the routing number if absent. */
    immediateDestination: z
      .string()
      .regex(/^ ?[0-9]{9,10}$/)
      .max(10)
      .optional(),
  }),
  /** The sender of the file, by the bank's agreement: a tax number after a 1, or a routing number. */
  origin: z.strictObject({
    id: z
      .string()
      .regex(/^ ?[0-9]{9,10}$/)
      .max(10),
    name: ascii(23),
  }),
  company: z.strictObject({
    id: ascii(10),
    name: ascii(16),
    entryDescription: ascii(10).default('PAYOUT'),
    discretionaryData: z
      .string()
      .max(20)
      .regex(/^[ -~]*$/)
      .default(''),
  }),
  folders: z.strictObject({
    outbox: z.string().min(1),
    inbox: z.string().min(1),
    archive: z.string().min(1),
  }),
  windows: z.array(windowSchema).max(24).default([]),
  /** Instead of windows: a file as soon as a payment has waited so long, for the next day. */
  closeAfterSeconds: z.int().min(1).max(86_400).optional(),
  /** Of payments whose payer does not say `speed` in its options. */
  speed: z.enum(['same_day', 'next_day']).default('same_day'),
  /** The maximum of a same-day entry (Nacha: USD 1,000,000 since March 2022). */
  sameDayLimit: decimal.default('1000000.00'),
  entriesMax: z.int().min(1).max(10_000).default(2_000),
  /** Whether files of one day are distinguished by their modifier alone, or by the minute as well. */
  fileIdentity: z.enum(['date', 'date_and_time']).default('date'),
  lineEnd: z.enum(['lf', 'crlf']).default('lf'),
  /** Whether the bank removes files from the outbox: nothing counts as paid before it did. */
  bankRemovesFiles: z.boolean().default(true),
  /** Banking days after settlement, at `paidAt`, with no return: then a payment counts as paid. */
  paidAfterBankingDays: z.int().min(0).max(60).default(2),
  paidAt: timeOfDay.default('18:30'),
  settlement: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('unbalanced') }),
      z.strictObject({
        kind: z.literal('balanced'),
        routingNumber,
        accountNumber,
        accountType: z.enum(['CHECKING', 'SAVINGS']).default('CHECKING'),
      }),
    ])
    .default({ kind: 'unbalanced' }),
  /** The last seven digits of trace numbers, where others originate with the same routing number. */
  traceRange: z
    .strictObject({ first: z.int().min(1), last: z.int().max(9_999_999) })
    .refine(({ first, last }) => last - first >= 10_000, 'must have more than 10000 numbers')
    .default({ first: 1, last: 9_999_999 }),
  /** The bank delivers at least one file in so many banking days; 0: it promises none. */
  filesEveryBankingDays: z.int().min(0).max(20).default(0),
  /** Real seconds between two reads of the inbox. */
  pollSeconds: z.int().min(1).max(86_400).default(30),
  iat: iatSchema.optional(),
});

export type NachaConfig = z.infer<typeof nachaConfigSchema>;
export type IatConfig = NonNullable<NachaConfig['iat']>;
export type Party = z.infer<typeof partySchema>;

/** Files of one origin are told apart by day and modifier, and entries by their trace numbers. */
export function listExclusives({
  odfi,
  origin,
  folders,
  settlement,
}: NachaConfig): ExclusiveResource[] {
  return [
    {
      what: 'the origin of files at the bank',
      value: `${odfi.routingNumber} ${origin.id.trim()}`,
    },
    ...Object.entries(folders).map(([name, folder]) => ({ what: `the folder ${name}`, folder })),
    ...(settlement.kind === 'balanced'
      ? [
          {
            what: 'the account that is debited',
            value: `${settlement.routingNumber} ${settlement.accountNumber}`,
          },
        ]
      : []),
  ];
}
