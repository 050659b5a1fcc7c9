import { z } from 'zod';
import { type BankOrder } from './bank-books.ts';

/** Reads payment files and messages of a scheme, as a bank does. */

const accountSchema = z.object({
  Id: z.union([z.object({ IBAN: z.string() }), z.object({ Othr: z.object({ Id: z.string() }) })]),
});

const orderFileSchema = z.object({
  CstmrCdtTrfInitn: z.object({
    GrpHdr: z.object({ MsgId: z.string(), NbOfTxs: z.string() }),
    PmtInf: z.array(
      z.object({
        PmtInfId: z.string(),
        PmtTpInf: z.object({ LclInstrm: z.object({ Cd: z.string() }).optional() }).optional(),
        DbtrAcct: accountSchema,
        CdtTrfTxInf: z.array(
          z.object({
            PmtId: z.object({ EndToEndId: z.string() }),
            Amt: z.object({ InstdAmt: z.object({ '#text': z.string(), '@Ccy': z.string() }) }),
            CdtrAcct: accountSchema,
          }),
        ),
      }),
    ),
  }),
});

const schemeMessageSchema = z.object({
  FIToFICstmrCdtTrf: z.object({
    GrpHdr: z.object({ MsgId: z.string(), NbOfTxs: z.string() }),
    CdtTrfTxInf: z.array(
      z.object({
        PmtId: z.object({ EndToEndId: z.string() }),
        IntrBkSttlmAmt: z.object({ '#text': z.string(), '@Ccy': z.string() }),
        DbtrAcct: accountSchema,
        CdtrAcct: accountSchema,
      }),
    ),
  }),
});

export type OrderFile = {
  readonly messageId: string;
  readonly messageName: string;
  readonly orders: BankOrder[];
  /** A reason code; "" for a valid file. */
  readonly fault: string;
};

export type OrderMessage = {
  readonly messageId: string;
  readonly count: string;
  readonly transfers: readonly Omit<BankOrder, 'decision' | 'reason' | 'returnedAmount'>[];
};

export function readInitiation(content: unknown): OrderMessage | undefined {
  const parsed = orderFileSchema.safeParse(content);
  if (!parsed.success) return undefined;
  const { GrpHdr, PmtInf } = parsed.data.CstmrCdtTrfInitn;
  const transfers = PmtInf.flatMap((group) =>
    group.CdtTrfTxInf.map(({ PmtId, Amt, CdtrAcct }) => ({
      endToEndId: PmtId.EndToEndId,
      paymentInformationId: group.PmtInfId,
      amount: Amt.InstdAmt['#text'],
      currency: Amt.InstdAmt['@Ccy'],
      account: readAccount(CdtrAcct),
      debtorAccount: readAccount(group.DbtrAcct),
      isInstant: group.PmtTpInf?.LclInstrm?.Cd === 'INST',
    })),
  );
  return { messageId: GrpHdr.MsgId, count: GrpHdr.NbOfTxs, transfers };
}

export function readSchemeMessage(content: unknown): OrderMessage | undefined {
  const parsed = schemeMessageSchema.safeParse(content);
  if (!parsed.success) return undefined;
  const { GrpHdr, CdtTrfTxInf } = parsed.data.FIToFICstmrCdtTrf;
  const transfers = CdtTrfTxInf.map(({ PmtId, IntrBkSttlmAmt, DbtrAcct, CdtrAcct }) => ({
    endToEndId: PmtId.EndToEndId,
    paymentInformationId: `${GrpHdr.MsgId}-1`,
    amount: IntrBkSttlmAmt['#text'],
    currency: IntrBkSttlmAmt['@Ccy'],
    account: readAccount(CdtrAcct),
    debtorAccount: readAccount(DbtrAcct),
    isInstant: true,
  }));
  return { messageId: GrpHdr.MsgId, count: GrpHdr.NbOfTxs, transfers };
}

function readAccount({ Id }: z.infer<typeof accountSchema>): string {
  return 'IBAN' in Id ? Id.IBAN : Id.Othr.Id;
}
