import { z } from 'zod';
import type { ExclusiveResource } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import { providerAddress } from '../kit/provider-address.ts';

/** The configuration of one balance account at Adyen, and the options of its payers. */

/** Hexadecimal, as the Customer Area shows it; at least 16 bytes. */
const webhookKey = z
  .string()
  .regex(/^(?:[0-9A-Fa-f]{2}){16,128}$/, 'must be an HMAC key of at least 32 hexadecimal digits');

export const configSchema = z.strictObject({
  /** Webhooks of the other environment are refused. */
  environment: z.enum(['test', 'live']),
  /** The funds leave from here. */
  balanceAccountId: z.string().regex(/^[A-Za-z0-9]{4,40}$/, 'must be the ID of a balance account'),
  /** With the roles of README.md. */
  apiKey: z
    .string()
    .regex(/^[\x21-\x7e]{16,500}$/, 'must be an API key of 16 to 500 ASCII characters'),
  /** More than one while the key of a webhook is replaced. */
  webhookKeys: z.array(webhookKey).min(1).max(8),
  /** Of Adyen when absent: the host of the Transfers and Configuration APIs. */
  apiUrl: providerAddress.optional(),
  /** Of Adyen when absent: the host from which reports are downloaded. */
  reportsUrl: providerAddress.optional(),
  /** Time limit of a request. */
  timeoutSeconds: z.number().min(0.1).max(120).default(20),
  /** How often the list of transfers is read for lost webhooks. */
  pollSeconds: z.int().min(1).max(86_400).default(300),
  /** How many days after its creation a transfer is still read, for late returns. */
  watchDays: z.int().min(1).max(180).default(30),
  /** The text on the recipient's account statement; none when empty. */
  description: z
    .string()
    .max(140)
    .regex(/^[A-Za-z0-9/\-?:().,'+ ]*$/, "must consist of letters, digits, spaces and /-?:().,'+")
    .default(''),
});
export type AdyenConfig = z.output<typeof configSchema>;

/** Without a final slash. */
export function getApiUrl({ apiUrl, environment }: AdyenConfig): string {
  return apiUrl ?? `https://balanceplatform-api-${environment}.adyen.com`;
}

/** Without a final slash. */
export function getReportsUrl({ reportsUrl, environment }: AdyenConfig): string {
  return reportsUrl ?? `https://balanceplatform-${environment}.adyen.com`;
}

/** A subscription of webhooks has a key of its own, and posts to one address. */
export function listExclusives(config: AdyenConfig): ExclusiveResource[] {
  return [
    { what: 'the balance account', value: config.balanceAccountId },
    ...config.webhookKeys.map((key) => ({
      what: 'the webhook (by its HMAC key)',
      value: key.toUpperCase(),
    })),
  ];
}

/** Of `TransferInfo.priority` in the description of the Transfers API. */
export const priorities = [
  'regular',
  'fast',
  'instant',
  'wire',
  'crossBorder',
  'internal',
] as const;
export type Priority = (typeof priorities)[number];

/**
 * The other party of a transfer: `balanceAccount` is a wallet, which is a balance account of the same
 * balance platform; `transferInstrument` a bank account that Adyen has verified for the platform.
 */
export type CounterpartyKind = 'bankAccount' | 'card' | 'balanceAccount' | 'transferInstrument';

/** What the operator declares of a payer in `options`. */
const optionsSchema = z.strictObject({
  /** In the order in which Adyen tries them, separated by commas; of transfers to banks. */
  priorities: z
    .string()
    .max(100)
    .transform((text) => text.split(',').map((word) => word.trim()))
    .pipe(z.array(z.enum(priorities)).min(1).max(priorities.length))
    .optional(),
  /** How many approvals in the Customer Area a transfer needs before it is sent. */
  approvals: z.coerce.number().int().min(0).max(5).default(0),
});

export type PayerOptions = {
  readonly counterparty: CounterpartyKind;
  /** Of transfers to banks; empty for the others. */
  readonly priorities: readonly Priority[];
  readonly approvals: number;
};

type Declared = Pick<PayerDeclaration, 'deliveryType' | 'accountForm' | 'options'>;

export function readPayerOptions(
  payer: Declared,
): { ok: true; options: PayerOptions } | { ok: false; faults: readonly string[] } {
  const parsed = optionsSchema.safeParse(payer.options);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(
      ({ path, message }) => `options.${path.map(String).join('.')}: ${message}`,
    );
    return { ok: false, faults };
  }
  const counterparty = chooseCounterparty(payer);
  const { priorities: chosen, approvals } = parsed.data;
  const isToBank = counterparty === 'bankAccount' || counterparty === 'transferInstrument';
  if (!isToBank && chosen !== undefined) {
    return { ok: false, faults: ['options.priorities: only transfers to banks have priorities'] };
  }
  const list = isToBank ? (chosen ?? ['regular']) : [];
  return { ok: true, options: { counterparty, priorities: list, approvals } };
}

function chooseCounterparty({ deliveryType, accountForm }: Declared): CounterpartyKind {
  if (accountForm === 'stored_card') return 'card';
  if (accountForm === undefined) return 'bankAccount';
  return deliveryType === 'MOBILE_WALLET' ? 'balanceAccount' : 'transferInstrument';
}
