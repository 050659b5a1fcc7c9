import { z } from 'zod';
import { getCurrency } from '../../core/currency.ts';
import { parseAmount, readDecimal } from '../../core/money.ts';
import { sumTransfers } from './message-parts.ts';
import { normalizeAccount, type PaymentOrder } from './orders.ts';
import { parseDocument } from './xml.ts';

/** Reads payment files that the rail has written. */

export type WrittenFile = {
  readonly messageId: string;
  /** As the header says, in UTC. */
  readonly createdAt: string;
  readonly count: string;
  readonly controlSum: string;
  readonly payments: readonly WrittenPayment[];
};

export type WrittenPayment = {
  readonly reference: string;
  /** PmtInfId of its group. */
  readonly groupId: string;
  readonly currency: string;
  /** Decimal text. */
  readonly amount: string;
  /** IBAN or another account number. */
  readonly account: string;
  readonly isInstant: boolean;
  /** "" where the file has none. */
  readonly uetr: string;
};

const accountSchema = z.object({
  Id: z.union([z.object({ IBAN: z.string() }), z.object({ Othr: z.object({ Id: z.string() }) })]),
});

const writtenSchema = z.object({
  CstmrCdtTrfInitn: z.object({
    GrpHdr: z.object({
      MsgId: z.string(),
      CreDtTm: z.string(),
      NbOfTxs: z.string(),
      CtrlSum: z.string(),
    }),
    PmtInf: z.array(
      z.object({
        PmtInfId: z.string(),
        PmtTpInf: z.object({ LclInstrm: z.object({ Cd: z.string() }).optional() }).optional(),
        CdtTrfTxInf: z.array(
          z.object({
            PmtId: z.object({ EndToEndId: z.string(), UETR: z.string().default('') }),
            Amt: z.object({ InstdAmt: z.object({ '#text': z.string(), '@Ccy': z.string() }) }),
            Cdtr: z.object({ Nm: z.string() }),
            CdtrAcct: accountSchema,
          }),
        ),
      }),
    ),
  }),
});

const writtenMessageSchema = z.object({
  FIToFICstmrCdtTrf: z.object({
    GrpHdr: z.object({
      MsgId: z.string(),
      CreDtTm: z.string(),
      NbOfTxs: z.string(),
      CtrlSum: z.string(),
    }),
    CdtTrfTxInf: z.array(
      z.object({
        PmtId: z.object({ EndToEndId: z.string(), UETR: z.string() }),
        IntrBkSttlmAmt: z.object({ '#text': z.string(), '@Ccy': z.string() }),
        Cdtr: z.object({ Nm: z.string() }),
        CdtrAcct: accountSchema,
      }),
    ),
  }),
});

/** @throws Error where it is no payment file of this rail. */
export function readWrittenFile(bytes: Uint8Array): WrittenFile {
  const document = parseDocument(bytes);
  if (!document.ok) throw new Error(`the written file cannot be read back: ${document.fault}`);
  if (document.messageName.startsWith('pacs.008.')) return readSchemeMessage(document.content);
  const { GrpHdr, PmtInf } = writtenSchema.parse(document.content).CstmrCdtTrfInitn;
  return {
    messageId: GrpHdr.MsgId,
    createdAt: GrpHdr.CreDtTm,
    count: GrpHdr.NbOfTxs,
    controlSum: GrpHdr.CtrlSum,
    payments: PmtInf.flatMap(({ PmtInfId, PmtTpInf, CdtTrfTxInf }) =>
      CdtTrfTxInf.map(({ PmtId, Amt, CdtrAcct: { Id } }) => ({
        reference: PmtId.EndToEndId,
        groupId: PmtInfId,
        currency: Amt.InstdAmt['@Ccy'],
        amount: Amt.InstdAmt['#text'],
        account: 'IBAN' in Id ? Id.IBAN : Id.Othr.Id,
        isInstant: PmtTpInf?.LclInstrm?.Cd === 'INST',
        uetr: PmtId.UETR,
      })),
    ),
  };
}

function readSchemeMessage(content: unknown): WrittenFile {
  const { GrpHdr, CdtTrfTxInf } = writtenMessageSchema.parse(content).FIToFICstmrCdtTrf;
  return {
    messageId: GrpHdr.MsgId,
    createdAt: GrpHdr.CreDtTm,
    count: GrpHdr.NbOfTxs,
    controlSum: GrpHdr.CtrlSum,
    payments: CdtTrfTxInf.map(({ PmtId, IntrBkSttlmAmt, CdtrAcct: { Id } }) => ({
      reference: PmtId.EndToEndId,
      groupId: `${GrpHdr.MsgId}-1`,
      currency: IntrBkSttlmAmt['@Ccy'],
      amount: IntrBkSttlmAmt['#text'],
      account: 'IBAN' in Id ? Id.IBAN : Id.Othr.Id,
      isInstant: true,
      uetr: PmtId.UETR,
    })),
  };
}

/**
 * The final check before a file is closed: reads it back and compares it with the orders, each payment
 * once with its account and amount, and the sums.
 *
 * @throws Error that names what differs, by reference.
 */
export function checkPaymentFile(xml: string, orders: readonly PaymentOrder[]): void {
  const { payments, count, controlSum } = readWrittenFile(Buffer.from(xml));
  if (payments.length !== orders.length || count !== String(orders.length)) {
    throw new Error(`the file holds ${payments.length} payments instead of ${orders.length}`);
  }
  const byReference = new Map(orders.map((order) => [order.reference, order]));
  for (const { reference, amount, currency, account } of payments) {
    const order = byReference.get(reference);
    if (order === undefined) throw new Error(`the file holds ${reference}, which was not ordered`);
    byReference.delete(reference);
    const read = parseAmount(amount, getCurrency(order.currency));
    if (currency !== order.currency || !read.ok || read.minor !== order.amountMinor) {
      throw new Error(`the file has another amount for ${reference}`);
    }
    if (account !== normalizeAccount(order.attributes['BankAccountNumber'])) {
      throw new Error(`the file has another account for ${reference}`);
    }
  }
  const sum = readDecimal(controlSum);
  const expected = readDecimal(sumTransfers(orders));
  if (sum?.digits !== expected?.digits || sum?.scale !== expected?.scale) {
    throw new Error('the control sum of the file is wrong');
  }
}
