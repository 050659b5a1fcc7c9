import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type {
  CallbackMessage,
  CallbackReading,
  Charge,
  InboundProblem,
  RailObservation,
} from '../contract/contract.ts';
import { decodeReference } from '../contract/references.ts';
import { parseJson } from '../kit/answers.ts';
import { createProblemMessage } from '../kit/problem-messages.ts';
import type { AdyenConfig } from './config.ts';
import {
  isAmount,
  isFeeTransfer,
  listFees,
  listMoneyProblems,
  readFeeTransfer,
} from './money-moves.ts';
import { type Outcome, readTransfer } from './outcomes.ts';
import type { PaymentRecord, Payments } from './payments.ts';
import type { ReturnBook } from './returns.ts';
import {
  describeFault,
  type ReportNotice,
  reportWebhookSchema,
  type Transfer,
  transferWebhookSchema,
  webhookSchema,
} from './wire.ts';

/**
 * Webhooks of Adyen, signed over the bytes of their body with HMAC-SHA256 (header `HmacSignature`,
 * Base64; the key is hexadecimal). A signature has no time: a replayed webhook counts once by the ids
 * of its observations.
 */

export type WebhookSetup = {
  readonly config: Pick<AdyenConfig, 'environment' | 'webhookKeys' | 'balanceAccountId'>;
  readonly payments: Pick<Payments, 'find'>;
  readonly returns: Pick<ReturnBook, 'add'>;
  readonly nowMs: number;
  /** Asks for the download of a report. */
  addReport(notice: ReportNotice): Promise<void>;
};

export async function readCallback(
  message: CallbackMessage,
  setup: WebhookSetup,
): Promise<CallbackReading> {
  const { body, method, headers } = message;
  if (method !== 'POST' || !isSigned(body, headers['hmacsignature'], setup.config.webhookKeys)) {
    return { kind: 'refused', detail: 'HmacSignature must be the HMAC of the body by a known key' };
  }
  const json = parseJson(Buffer.from(body).toString('utf8'));
  const head = webhookSchema.safeParse(json);
  if (!head.success) return describeMisfit(body, describeFault(head.error));
  const { environment, type } = head.data;
  if (environment !== setup.config.environment) {
    return { kind: 'refused', detail: `the webhook is of the environment ${environment}` };
  }
  if (type.startsWith('balancePlatform.transfer.'))
    return await readTransferWebhook(body, json, setup);
  if (type === 'balancePlatform.report.created') return await readReportWebhook(body, json, setup);
  // Other webhooks that the endpoint is subscribed to mean nothing to payments.
  return accept(body, []);
}

export function signBody(body: Uint8Array, key: string): string {
  return createHmac('sha256', Buffer.from(key, 'hex')).update(body).digest('base64');
}

function isSigned(body: Uint8Array, signature = '', keys: readonly string[]): boolean {
  const given = Buffer.from(signature);
  return keys.some((key) => {
    const expected = Buffer.from(signBody(body, key));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/** Adyen repeats a webhook byte for byte. */
function nameMessage(body: Uint8Array): string {
  return `webhook:${createHash('sha256').update(body).digest('hex').slice(0, 32)}`;
}

function accept(
  body: Uint8Array,
  observations: readonly RailObservation[],
  problems: readonly InboundProblem[] = [],
): CallbackReading {
  const id = nameMessage(body);
  const message = { id, channel: 'callback', raw: body, observations, problems } as const;
  return { kind: 'accepted', message };
}

/** Proven, but not applicable: it is stored, and opens an exception. */
function describeMisfit(body: Uint8Array, detail: string): CallbackReading {
  const id = nameMessage(body);
  const problem = { id, kind: 'not_understood', detail: `a webhook: ${detail}` } as const;
  const message = createProblemMessage(problem, { channel: 'callback', raw: body });
  return { kind: 'malformed', detail, message };
}

async function readTransferWebhook(
  body: Uint8Array,
  json: unknown,
  setup: WebhookSetup,
): Promise<CallbackReading> {
  const webhook = transferWebhookSchema.safeParse(json);
  if (!webhook.success) return describeMisfit(body, describeFault(webhook.error));
  const transfer = webhook.data.data;
  if (!isOurs(transfer, setup.config.balanceAccountId)) return accept(body, []);
  const record = await setup.payments.find(transfer.reference);
  if (isFeeTransfer(transfer)) {
    return accept(body, describeFeeTransfer(transfer, record, setup.nowMs));
  }
  const fault = findEchoFault(transfer, record);
  if (fault !== undefined) return describeMisfit(body, fault);
  const observations = await describeObservations(transfer, setup);
  if (observations === undefined) return describeMisfit(body, 'the status is not known');
  return accept(body, observations, listMoneyProblems(transfer));
}

/** The balance account may have other transfers: of the operator's own, or towards it. */
export function isOurs(transfer: Transfer, balanceAccountId: string): boolean {
  return (
    transfer.direction !== 'incoming' &&
    (transfer.balanceAccount?.id ?? balanceAccountId) === balanceAccountId &&
    decodeReference(transfer.reference) !== undefined
  );
}

/** An unknown payment is applied as unmatched; a known one must be the same transfer and money. */
export function findEchoFault(
  transfer: Transfer,
  record: PaymentRecord | undefined,
): string | undefined {
  if (record === undefined) return undefined;
  const { value, key } = record;
  if (!isAmount(transfer, value)) return `${key}: amount and currency must be those of the order`;
  if (value.transferId !== '' && value.transferId !== transfer.id) {
    return `${key}: the reference belongs to the transfer ${value.transferId}`;
  }
  return undefined;
}

/**
 * A transfer reaches each outcome once, comes back in one or several parts, and costs each fee once, so
 * that the webhook and the list of transfers report the same observations. The outcome comes first.
 * Undefined where its status is not known.
 */
export async function describeObservations(
  transfer: Transfer,
  { nowMs, returns }: Pick<WebhookSetup, 'nowMs' | 'returns'>,
): Promise<readonly [TransferObservation, ...TransferObservation[]] | undefined> {
  const reading = readTransfer(transfer);
  if (reading.kind === 'not_understood') return undefined;
  const { outcome, reason, code, parts } = reading;
  const changedAt = transfer.updatedAt ?? transfer.creationDate ?? transfer.createdAt;
  const common = {
    reference: transfer.reference,
    outcome,
    ...((outcome === 'rejected' || outcome === 'returned') && { reason }),
    providerReference: transfer.id,
    code,
    atMs: changedAt === undefined ? nowMs : Date.parse(changedAt),
  };
  const id = `${transfer.id}:${outcome}`;
  const fees = describeFees(transfer, common.atMs);
  if (outcome !== 'returned') return [{ ...common, id }, ...fees];
  const reported = await returns.add(transfer, parts, parts.at(-1)?.atMs ?? common.atMs);
  const [first = { ...common, id }, ...more] = reported.map((part, index) => ({
    ...common,
    ...part,
    id: index === 0 ? id : `${id}:${index + 1}`,
  }));
  return [first, ...more, ...fees];
}

export type TransferObservation = RailObservation & { readonly outcome: Outcome };

/**
 * Charges of a payment, which say nothing new about it: they are dated before everything that happened
 * to the payment, so that they count as old news whatever became of it.
 */
function describeCharges(
  charges: readonly Charge[],
  { id, reference, atMs }: { id: string; reference: string; atMs: number },
): TransferObservation[] {
  return charges.map((charge) => ({
    id: `${id}:fee:${charge.id}`,
    reference,
    outcome: 'accepted',
    charges: [charge],
    atMs,
  }));
}

function describeFees(transfer: Transfer, changedAtMs: number): TransferObservation[] {
  const { id, reference, createdAt, creationDate } = transfer;
  const created = createdAt ?? creationDate;
  const atMs = created === undefined ? changedAtMs : Date.parse(created);
  return describeCharges(listFees(transfer), { id, reference, atMs: Math.min(atMs, changedAtMs) });
}

/** The charge of a transfer that is itself a fee, under the reference of a payment. */
export function describeFeeTransfer(
  transfer: Transfer,
  record: PaymentRecord | undefined,
  nowMs: number,
): TransferObservation[] {
  const charge = readFeeTransfer(transfer);
  if (charge === undefined) return [];
  const { id, reference } = transfer;
  const orderedAtMs = record?.value.firstSentAtMs ?? 0;
  return describeCharges([charge], { id, reference, atMs: Math.min(orderedAtMs, nowMs) });
}

async function readReportWebhook(
  body: Uint8Array,
  json: unknown,
  setup: WebhookSetup,
): Promise<CallbackReading> {
  const webhook = reportWebhookSchema.safeParse(json);
  if (!webhook.success) return describeMisfit(body, describeFault(webhook.error));
  await setup.addReport(webhook.data.data);
  return accept(body, []);
}
