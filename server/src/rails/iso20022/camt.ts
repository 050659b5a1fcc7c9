import { z } from 'zod';
import { findCurrency } from '../../core/currency.ts';
import { parseAmount } from '../../core/money.ts';
import { cleanCode } from './codes.ts';
import { cleanReference } from './pain002.ts';

/**
 * What was booked on an account: debit and credit notification (camt.054) and statement (camt.053),
 * version 02 and later. Both list the same entries, so that both are read the same way.
 */

export type Money = { readonly currency: string; readonly amountMinor: bigint };

export type EntryCharge = Money & {
  /** Taken out of the entry's amount, or added to it; otherwise it is booked by itself. */
  readonly isIncluded: boolean;
};

/** One booked transaction, or a whole batch that the bank books as one. */
export type BookedEntry = {
  /** IBAN or other id of the account. */
  readonly account: string;
  readonly direction: 'debit' | 'credit';
  /** It says itself that it undoes an earlier one. */
  readonly isReturn: boolean;
  /** It is what the bank takes for a payment, booked by itself. */
  readonly isCharge: boolean;
  /** Our reference, or what else it says; "" where it says nothing. */
  readonly endToEndId: string;
  readonly booked: Money | undefined;
  /** In the payment's own currency, where the account has another one. */
  readonly instructed: Money | undefined;
  readonly charges: readonly EntryCharge[];
  readonly code: string;
  /** The bank's number for it; the same in notification and statement. */
  readonly providerReference: string;
  /** YYYY-MM-DD or with a time; "" where none is given. */
  readonly bookedAt: string;
  /** Where it stands for a batch: the payments are not listed one by one. */
  readonly batch: { readonly id: string; readonly count: string } | undefined;
};

const amountSchema = z.object({ '#text': z.string(), '@Ccy': z.string() });
type Amount = z.infer<typeof amountSchema>;

const chargeRecordSchema = z.object({
  Amt: amountSchema.optional(),
  CdtDbtInd: z.string().optional(),
  ChrgInclInd: z.string().optional(),
});

const chargesSchema = z
  .array(chargeRecordSchema.extend({ Rcrd: z.array(chargeRecordSchema).max(100).optional() }))
  .max(100)
  .optional();

const amountDetailsSchema = z
  .object({
    InstdAmt: z.object({ Amt: amountSchema }).optional(),
    TxAmt: z.object({ Amt: amountSchema }).optional(),
  })
  .optional();

const kindSchema = z
  .object({
    Domn: z.object({ Fmly: z.object({ SubFmlyCd: z.string().optional() }).optional() }).optional(),
  })
  .optional();

/** Sub-families of the bank transaction codes for charges, commissions, fees and their taxes. */
const chargeKinds = new Set(['CHRG', 'COMM', 'COMT', 'FEES', 'TAXE', 'VATX']);

const transactionSchema = z.object({
  Refs: z
    .object({
      EndToEndId: z.string().optional(),
      AcctSvcrRef: z.string().optional(),
    })
    .optional(),
  Amt: amountSchema.optional(),
  CdtDbtInd: z.string().optional(),
  AmtDtls: amountDetailsSchema,
  BkTxCd: kindSchema,
  Chrgs: chargesSchema,
  RtrInf: z
    .object({
      Rsn: z.object({ Cd: z.string().optional(), Prtry: z.string().optional() }).optional(),
    })
    .optional(),
});
type Transaction = z.infer<typeof transactionSchema>;

const entrySchema = z.object({
  Amt: amountSchema,
  CdtDbtInd: z.enum(['CRDT', 'DBIT']),
  RvslInd: z.string().optional(),
  // A code by itself before version 08.
  Sts: z.union([z.string(), z.object({ Cd: z.string().optional() })]),
  BookgDt: z.object({ Dt: z.string().optional(), DtTm: z.string().optional() }).optional(),
  AcctSvcrRef: z.string().optional(),
  AmtDtls: amountDetailsSchema,
  BkTxCd: kindSchema,
  Chrgs: chargesSchema,
  NtryDtls: z
    .array(
      z.object({
        Btch: z
          .object({
            MsgId: z.string().optional(),
            PmtInfId: z.string().optional(),
            NbOfTxs: z.string().optional(),
          })
          .optional(),
        TxDtls: z.array(transactionSchema).max(100_000).default([]),
      }),
    )
    .max(100_000)
    .default([]),
});
type Entry = z.infer<typeof entrySchema>;

const accountReportsSchema = z
  .array(
    z.object({
      Acct: z.object({
        Id: z.object({
          IBAN: z.string().optional(),
          Othr: z.object({ Id: z.string() }).optional(),
        }),
      }),
      Ntry: z.array(entrySchema).max(100_000).default([]),
    }),
  )
  .max(10_000);

const headerSchema = z.object({ CreDtTm: z.string().default('') });

const contentSchema = z.union([
  z.object({
    BkToCstmrDbtCdtNtfctn: z.object({ GrpHdr: headerSchema, Ntfctn: accountReportsSchema }),
  }),
  z.object({ BkToCstmrStmt: z.object({ GrpHdr: headerSchema, Stmt: accountReportsSchema }) }),
]);

export type AccountReport = {
  readonly createdAt: string;
  readonly entries: readonly BookedEntry[];
};

/** The booked entries; what is only pending or announced is left out. Undefined: not such a message. */
export function readAccountReport(content: unknown): AccountReport | undefined {
  const parsed = contentSchema.safeParse(content);
  if (!parsed.success) return undefined;
  const message =
    'BkToCstmrStmt' in parsed.data
      ? { ...parsed.data.BkToCstmrStmt, reports: parsed.data.BkToCstmrStmt.Stmt }
      : { ...parsed.data.BkToCstmrDbtCdtNtfctn, reports: parsed.data.BkToCstmrDbtCdtNtfctn.Ntfctn };
  const entries = message.reports.flatMap(({ Acct, Ntry }) => {
    const account = (Acct.Id.IBAN ?? Acct.Id.Othr?.Id ?? '').replaceAll(' ', '');
    return Ntry.filter(isBooked).flatMap((entry) => splitEntry(entry, account));
  });
  return { createdAt: message.GrpHdr.CreDtTm, entries };
}

function isBooked({ Sts: status }: Entry): boolean {
  return (typeof status === 'string' ? status : status.Cd) === 'BOOK';
}

function splitEntry(entry: Entry, account: string): BookedEntry[] {
  const booked = entry.NtryDtls.flatMap(({ Btch, TxDtls }): BookedEntry[] => {
    const batchId = Btch?.PmtInfId ?? Btch?.MsgId ?? '';
    const isNamed = TxDtls.some(({ Refs }) => Refs?.EndToEndId !== undefined);
    if (batchId === '' || isNamed) {
      return TxDtls.map((details) =>
        readTransaction(details, { entry, account, isOnly: TxDtls.length === 1 }),
      );
    }
    const whole = readTransaction({}, { entry, account, isOnly: true });
    return [{ ...whole, batch: { id: batchId, count: Btch?.NbOfTxs ?? '' } }];
  });
  return booked;
}

function readTransaction(
  details: Transaction,
  context: { entry: Entry; account: string; isOnly: boolean },
): BookedEntry {
  const { entry, account, isOnly } = context;
  // Of several in one entry, none has the entry's amount or charges.
  const own = isOnly ? entry : undefined;
  const amountDetails = details.AmtDtls ?? own?.AmtDtls;
  const direction = details.CdtDbtInd ?? entry.CdtDbtInd;
  const reason = details.RtrInf?.Rsn;
  return {
    account,
    direction: direction === 'DBIT' ? 'debit' : 'credit',
    isReturn: details.RtrInf !== undefined || isYes(entry.RvslInd),
    isCharge: chargeKinds.has((details.BkTxCd ?? entry.BkTxCd)?.Domn?.Fmly?.SubFmlyCd ?? ''),
    endToEndId: details.Refs?.EndToEndId ?? '',
    booked: readMoney(details.Amt ?? amountDetails?.TxAmt?.Amt ?? own?.Amt),
    instructed: readMoney(amountDetails?.InstdAmt?.Amt),
    charges: readCharges(details.Chrgs ?? own?.Chrgs),
    code: cleanCode(reason?.Cd ?? reason?.Prtry ?? ''),
    providerReference: cleanReference(details.Refs?.AcctSvcrRef ?? entry.AcctSvcrRef),
    bookedAt: entry.BookgDt?.DtTm ?? entry.BookgDt?.Dt ?? '',
    batch: undefined,
  };
}

function readCharges(charges: z.infer<typeof chargesSchema>): EntryCharge[] {
  const records = (charges ?? []).flatMap(({ Rcrd, ...whole }) => Rcrd ?? [whole]);
  return records.flatMap((record) => {
    const money = readMoney(record.Amt);
    // A charge that is credited is one given back, and no cost.
    if (money === undefined || record.CdtDbtInd === 'CRDT') return [];
    return [{ ...money, isIncluded: isYes(record.ChrgInclInd) }];
  });
}

/** XML Schema has two words for it. */
function isYes(text: string | undefined): boolean {
  return text === 'true' || text === '1';
}

/** Undefined for nothing, for zero, and for what is no amount of its currency. */
function readMoney(amount: Amount | undefined): Money | undefined {
  const currency = amount && findCurrency(amount['@Ccy']);
  if (amount === undefined || currency === undefined) return undefined;
  const parsed = parseAmount(amount['#text'], currency);
  return parsed.ok ? { currency: currency.code, amountMinor: parsed.minor } : undefined;
}
