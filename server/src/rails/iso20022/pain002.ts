import { z } from 'zod';
import { cleanCode, isDuplicateCode } from './codes.ts';

/**
 * Payment status reports: of a customer (pain.002.001.03 and later), and between banks (pacs.002), which
 * has the same statuses without groups.
 */

export type Status = {
  /** Such as ACSP or RJCT; "" where this level has none. */
  readonly status: string;
  /** Such as AC04; "" where none is given. */
  readonly code: string;
};

export type StatusReport = {
  readonly originalMessageId: string;
  readonly createdAt: string;
  readonly group: Status;
  readonly payments: readonly PaymentInformationStatus[];
};

export type PaymentInformationStatus = Status & {
  /** Our PmtInfId. */
  readonly id: string;
  readonly transactions: readonly TransactionStatus[];
};

export type TransactionStatus = Status & {
  /** Our reference, in one or both. */
  readonly endToEndId: string;
  readonly instructionId: string;
  /** The instructed amount as the bank repeats it; undefined where it does not. */
  readonly amount: { readonly text: string; readonly currency: string } | undefined;
  readonly providerReference: string;
};

const reasonsSchema = z
  .array(
    z.object({
      Rsn: z.object({ Cd: z.string().optional(), Prtry: z.string().optional() }).optional(),
    }),
  )
  .max(100)
  .optional();

const amountSchema = z.object({ '#text': z.string(), '@Ccy': z.string() });

const transactionSchema = z.object({
  OrgnlInstrId: z.string().optional(),
  OrgnlEndToEndId: z.string().optional(),
  TxSts: z.string().optional(),
  StsRsnInf: reasonsSchema,
  AcctSvcrRef: z.string().optional(),
  OrgnlTxRef: z
    .object({
      Amt: z.object({ InstdAmt: amountSchema.optional() }).optional(),
      IntrBkSttlmAmt: amountSchema.optional(),
    })
    .optional(),
});

const reportSchema = z.object({
  CstmrPmtStsRpt: z.object({
    GrpHdr: z.object({ MsgId: z.string(), CreDtTm: z.string().default('') }),
    OrgnlGrpInfAndSts: z.object({
      OrgnlMsgId: z.string(),
      GrpSts: z.string().optional(),
      StsRsnInf: reasonsSchema,
    }),
    OrgnlPmtInfAndSts: z
      .array(
        z.object({
          OrgnlPmtInfId: z.string(),
          PmtInfSts: z.string().optional(),
          StsRsnInf: reasonsSchema,
          TxInfAndSts: z.array(transactionSchema).max(100_000).default([]),
        }),
      )
      .max(100_000)
      .default([]),
  }),
});

/** Undefined where the content is no status report. */
export function readStatusReport(content: unknown): StatusReport | undefined {
  const parsed = reportSchema.safeParse(content);
  if (!parsed.success) return undefined;
  const {
    GrpHdr,
    OrgnlGrpInfAndSts: original,
    OrgnlPmtInfAndSts: payments,
  } = parsed.data.CstmrPmtStsRpt;
  return {
    originalMessageId: original.OrgnlMsgId,
    createdAt: GrpHdr.CreDtTm,
    group: readStatus(original.GrpSts, original.StsRsnInf),
    payments: payments.map((payment) => ({
      id: payment.OrgnlPmtInfId,
      ...readStatus(payment.PmtInfSts, payment.StsRsnInf),
      transactions: payment.TxInfAndSts.map(readTransaction),
    })),
  };
}

const originalSchema = z.object({ OrgnlMsgId: z.string() });

const bankReportSchema = z.object({
  FIToFIPmtStsRpt: z.object({
    GrpHdr: z.object({ MsgId: z.string(), CreDtTm: z.string().default('') }),
    OrgnlGrpInfAndSts: originalSchema
      .extend({ GrpSts: z.string().optional(), StsRsnInf: reasonsSchema })
      .optional(),
    TxInfAndSts: z
      .array(transactionSchema.extend({ OrgnlGrpInf: originalSchema.optional() }))
      .max(100_000)
      .default([]),
  }),
});

/** Undefined where the content is no status report of a bank, or is about several messages. */
export function readBankStatusReport(content: unknown): StatusReport | undefined {
  const parsed = bankReportSchema.safeParse(content);
  if (!parsed.success) return undefined;
  const { GrpHdr, OrgnlGrpInfAndSts: group, TxInfAndSts } = parsed.data.FIToFIPmtStsRpt;
  const named = [group, ...TxInfAndSts.map(({ OrgnlGrpInf }) => OrgnlGrpInf)];
  const ids = new Set(named.flatMap((one) => one?.OrgnlMsgId ?? []));
  const [originalMessageId, ...others] = ids;
  if (originalMessageId === undefined || others.length > 0) return undefined;
  return {
    originalMessageId,
    createdAt: GrpHdr.CreDtTm,
    group: readStatus(group?.GrpSts, group?.StsRsnInf),
    payments: [
      {
        id: `${originalMessageId}-1`,
        status: '',
        code: '',
        transactions: TxInfAndSts.map(readTransaction),
      },
    ],
  };
}

function readTransaction(transaction: z.infer<typeof transactionSchema>): TransactionStatus {
  const amount = transaction.OrgnlTxRef?.Amt?.InstdAmt ?? transaction.OrgnlTxRef?.IntrBkSttlmAmt;
  return {
    endToEndId: transaction.OrgnlEndToEndId ?? '',
    instructionId: transaction.OrgnlInstrId ?? '',
    ...readStatus(transaction.TxSts, transaction.StsRsnInf),
    amount: amount && { text: amount['#text'], currency: amount['@Ccy'] },
    providerReference: cleanReference(transaction.AcctSvcrRef),
  };
}

/**
 * A code for a duplicate takes precedence, wherever it stands, because it leaves the first copy open;
 * else the first code, since banks add further ones for what they changed.
 */
function readStatus(status: string | undefined, reasons: z.infer<typeof reasonsSchema>): Status {
  const codes = (reasons ?? []).map(({ Rsn }) => cleanCode(Rsn?.Cd ?? Rsn?.Prtry ?? ''));
  const code = codes.find(isDuplicateCode) ?? codes.find((one) => one !== '') ?? '';
  return { status: status ?? '', code };
}

/** A bank's own reference of a payment, or "": any other text may be personal data. */
export function cleanReference(text: string | undefined): string {
  return text !== undefined && /^[A-Za-z0-9/.:_-]{1,35}$/.test(text) ? text : '';
}
