import { z } from 'zod';
import { findCurrency } from '../../core/currency.ts';
import { parseAmount } from '../../core/money.ts';
import { cleanCode } from './codes.ts';
import { cleanReference } from './pain002.ts';

/**
 * Account reports: debit and credit notification (camt.054) and statement (camt.053), version 02 and
 * later. Both list the same entries, so that both are read the same way.
 */

export type Money = { readonly currency: string; readonly amountMinor: bigint };

export type EntryCharge = Money & {
  /** Part of the entry's amount; otherwise it is booked separately. */
  readonly isIncluded: boolean;
};

/** A statement repeats what notifications reported before. */
export type ReportSource = 'notification' | 'statement';

/** One booked transaction, or a whole batch that the bank books as one amount. */
export type BookedEntry = {
  /** The place in the message, such as `2.1`: entry 2, transaction 1. */
  readonly position: string;
  /** IBAN or other id of the account. */
  readonly account: string;
  readonly direction: 'debit' | 'credit';
  /** It returns or reverses an earlier booking. */
  readonly isReturn: boolean;
  /** It is a charge of the bank that is booked separately. */
  readonly isCharge: boolean;
  /** Our reference, or another text of the bank; "" where there is none. */
  readonly endToEndId: string;
  readonly instructionId: string;
  readonly booked: Money | undefined;
  /** The amount in other currencies: instructed, or the counter-value. */
  readonly otherAmounts: readonly Money[];
  readonly charges: readonly EntryCharge[];
  readonly code: string;
  /** The bank's number for this transaction alone; "" where it gives none. */
  readonly bankReference: string;
  /** YYYY-MM-DD or with a time; "" where none is given. */
  readonly bookedAt: string;
  /** The batch that it belongs to or represents; undefined where none is named. */
  readonly batch: Batch | undefined;
};

export type Batch = {
  /** Our PmtInfId or MsgId; "" where only the payments are listed. */
  readonly id: string;
  /** As the bank reports it, or "". */
  readonly count: string;
  /** End-to-end ids of payments that are listed without amounts of their own. */
  readonly endToEndIds: readonly string[];
};

/** An entry that cannot be read. */
export type EntryFault = {
  readonly position: string;
  readonly detail: string;
  readonly money: Money | undefined;
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
    CntrValAmt: z.object({ Amt: amountSchema }).optional(),
  })
  .optional();

const kindSchema = z
  .object({
    Domn: z.object({ Fmly: z.object({ SubFmlyCd: z.string().optional() }).optional() }).optional(),
  })
  .optional();

/** Sub-families of the bank transaction codes for charges, commissions, fees and their taxes. */
const chargeKinds = new Set(['CHRG', 'COMM', 'COMT', 'FEES', 'TAXE', 'VATX']);
/** Reversals because a payment was returned, or because its cancellation was requested. */
const returnKinds = new Set(['RRTN', 'RPCR']);

const transactionSchema = z.object({
  Refs: z
    .object({
      MsgId: z.string().optional(),
      AcctSvcrRef: z.string().optional(),
      PmtInfId: z.string().optional(),
      InstrId: z.string().optional(),
      EndToEndId: z.string().optional(),
    })
    .optional(),
  Amt: amountSchema.optional(),
  CdtDbtInd: z.enum(['CRDT', 'DBIT']).optional(),
  AmtDtls: amountDetailsSchema,
  BkTxCd: kindSchema,
  Chrgs: chargesSchema,
  RtrInf: z
    .object({
      Rsn: z.object({ Cd: z.string().optional(), Prtry: z.string().optional() }).optional(),
    })
    .or(z.literal(''))
    .optional(),
});
type Transaction = z.infer<typeof transactionSchema>;

const detailsSchema = z.object({
  Btch: z
    .object({
      MsgId: z.string().optional(),
      PmtInfId: z.string().optional(),
      NbOfTxs: z.string().optional(),
      TtlAmt: amountSchema.optional(),
    })
    .optional(),
  TxDtls: z.array(transactionSchema).max(100_000).default([]),
});
type Details = z.infer<typeof detailsSchema>;

const entrySchema = z.object({
  Amt: amountSchema,
  CdtDbtInd: z.enum(['CRDT', 'DBIT']),
  RvslInd: z.string().optional(),
  // A code by itself before version 08.
  Sts: z.union([z.string(), z.object({ Cd: z.string().optional() })]),
  BookgDt: z
    .object({ Dt: z.string().optional(), DtTm: z.string().optional() })
    .or(z.literal(''))
    .optional(),
  AcctSvcrRef: z.string().optional(),
  AmtDtls: amountDetailsSchema,
  BkTxCd: kindSchema,
  Chrgs: chargesSchema,
  NtryDtls: z
    .array(detailsSchema.or(z.literal('')))
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
      Ntry: z.array(z.unknown()).max(100_000).default([]),
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
  readonly source: ReportSource;
  readonly createdAt: string;
  readonly entries: readonly BookedEntry[];
  readonly faults: readonly EntryFault[];
};

/** The booked entries; those that are pending or announced are left out. Undefined: another message. */
export function readAccountReport(content: unknown): AccountReport | undefined {
  const parsed = contentSchema.safeParse(content);
  if (!parsed.success) return undefined;
  const isStatement = 'BkToCstmrStmt' in parsed.data;
  const { GrpHdr, reports } =
    'BkToCstmrStmt' in parsed.data
      ? { ...parsed.data.BkToCstmrStmt, reports: parsed.data.BkToCstmrStmt.Stmt }
      : { ...parsed.data.BkToCstmrDbtCdtNtfctn, reports: parsed.data.BkToCstmrDbtCdtNtfctn.Ntfctn };
  const entries: BookedEntry[] = [];
  const faults: EntryFault[] = [];
  let count = 0;
  for (const { Acct, Ntry } of reports) {
    const account = (Acct.Id.IBAN ?? Acct.Id.Othr?.Id ?? '').replaceAll(' ', '');
    for (const written of Ntry) {
      count += 1;
      const read = readEntry(written, { account, position: String(count) });
      if ('fault' in read) faults.push(read.fault);
      else entries.push(...read.entries);
    }
  }
  const source = isStatement ? 'statement' : 'notification';
  return { source, createdAt: GrpHdr.CreDtTm, entries, faults };
}

type EntryPlace = { readonly account: string; readonly position: string };

/** ExternalEntryStatus1Code: an entry that is not booked yet may change, and comes again once it is. */
const unbookedStatuses = new Set(['PDNG', 'INFO', 'FUTR']);

function readEntry(
  written: unknown,
  place: EntryPlace,
): { entries: BookedEntry[] } | { fault: EntryFault } {
  const { position } = place;
  const parsed = entrySchema.safeParse(written);
  if (!parsed.success) {
    const amount = z.object({ Amt: amountSchema }).safeParse(written);
    const money = amount.success ? readMoney(amount.data.Amt) : undefined;
    return { fault: { position, detail: 'the entry does not have the form of an entry', money } };
  }
  const entry = parsed.data;
  const status = (typeof entry.Sts === 'string' ? entry.Sts : entry.Sts.Cd) ?? '';
  if (status === 'BOOK') return { entries: splitEntry(entry, place) };
  if (unbookedStatuses.has(status)) return { entries: [] };
  const detail = `the entry has the unknown status ${cleanCode(status) || '(none)'}`;
  return { fault: { position, detail, money: readMoney(entry.Amt) } };
}

function splitEntry(entry: Entry, place: EntryPlace): BookedEntry[] {
  const allDetails = entry.NtryDtls.filter((details) => details !== '');
  const isOnlyDetails = allDetails.length === 1;
  // An entry without details stands for itself.
  if (allDetails.length === 0) return [readTransaction({}, { entry, place, isOnly: true })];
  let count = 0;
  return allDetails.flatMap((details): BookedEntry[] => {
    const listed = listTransactions(details, entry, isOnlyDetails);
    return listed.map(({ transaction, isOnly, batch, booked }) => {
      count += 1;
      const at = { ...place, position: `${place.position}.${count}` };
      const read = readTransaction(transaction, { entry, place: at, isOnly });
      return { ...read, booked: booked ?? read.booked, batch: batch ?? read.batch };
    });
  });
}

type ListedTransaction = {
  readonly transaction: Transaction;
  /** The entry consists of it alone, so that the entry's fields apply to it. */
  readonly isOnly: boolean;
  readonly batch: Batch | undefined;
  readonly booked: Money | undefined;
};

function listTransactions(
  { Btch, TxDtls }: Details,
  entry: Entry,
  isOnlyDetails: boolean,
): ListedTransaction[] {
  const batchId = Btch?.PmtInfId ?? Btch?.MsgId ?? '';
  const endToEndIds = TxDtls.flatMap(({ Refs }) => Refs?.EndToEndId ?? Refs?.InstrId ?? []);
  const isPriced = TxDtls.some(({ Amt, AmtDtls }) => (Amt ?? AmtDtls?.TxAmt) !== undefined);
  const isWhole =
    TxDtls.length === 0 ||
    (batchId !== '' && endToEndIds.length === 0) ||
    (TxDtls.length > 1 && !isPriced);
  const named = batchId === '' ? undefined : { id: batchId, count: '', endToEndIds: [] };
  if (!isWhole) {
    const isOnly = isOnlyDetails && TxDtls.length === 1;
    return TxDtls.map((transaction) => ({ transaction, isOnly, batch: named, booked: undefined }));
  }
  const count = Btch?.NbOfTxs ?? (endToEndIds.length > 0 ? String(TxDtls.length) : '');
  const transaction = { ...TxDtls[0], Refs: undefined };
  const isBatch = batchId !== '' || endToEndIds.length > 0;
  const batch = isBatch ? { id: batchId, count, endToEndIds } : undefined;
  const booked = readMoney(Btch?.TtlAmt) ?? (isOnlyDetails ? readMoney(entry.Amt) : undefined);
  return [{ transaction, isOnly: isOnlyDetails, batch, booked }];
}

function readTransaction(
  details: Transaction,
  context: { entry: Entry; place: EntryPlace; isOnly: boolean },
): BookedEntry {
  const { entry, place, isOnly } = context;
  // Of several in one entry, none has the entry's amount, charges or reference.
  const own = isOnly ? entry : undefined;
  const amounts = details.AmtDtls ?? own?.AmtDtls;
  const direction = details.CdtDbtInd ?? entry.CdtDbtInd;
  const reason = details.RtrInf === '' ? undefined : details.RtrInf?.Rsn;
  const kind = (details.BkTxCd ?? entry.BkTxCd)?.Domn?.Fmly?.SubFmlyCd ?? '';
  const batchId = details.Refs?.PmtInfId ?? details.Refs?.MsgId ?? '';
  const others = [amounts?.InstdAmt, amounts?.CntrValAmt, amounts?.TxAmt];
  return {
    ...place,
    direction: direction === 'DBIT' ? 'debit' : 'credit',
    isReturn: details.RtrInf !== undefined || isYes(entry.RvslInd) || returnKinds.has(kind),
    isCharge: chargeKinds.has(kind),
    endToEndId: details.Refs?.EndToEndId ?? '',
    instructionId: details.Refs?.InstrId ?? '',
    booked: readMoney(details.Amt ?? amounts?.TxAmt?.Amt ?? own?.Amt),
    otherAmounts: others.flatMap((amount) => readMoney(amount?.Amt) ?? []),
    charges: readCharges(details.Chrgs ?? own?.Chrgs),
    code: cleanCode(reason?.Cd ?? reason?.Prtry ?? ''),
    bankReference: cleanReference(details.Refs?.AcctSvcrRef ?? own?.AcctSvcrRef),
    bookedAt: readDay(entry.BookgDt),
    batch: batchId === '' ? undefined : { id: batchId, count: '', endToEndIds: [] },
  };
}

function readDay(day: Entry['BookgDt']): string {
  return day === '' ? '' : (day?.DtTm ?? day?.Dt ?? '');
}

function readCharges(charges: z.infer<typeof chargesSchema>): EntryCharge[] {
  const records = (charges ?? []).flatMap(({ Rcrd, ...whole }) => Rcrd ?? [whole]);
  return records.flatMap((record) => {
    const money = readMoney(record.Amt);
    // A charge that is credited is a refund and no cost.
    if (money === undefined || record.CdtDbtInd === 'CRDT') return [];
    return [{ ...money, isIncluded: isYes(record.ChrgInclInd) }];
  });
}

/** The two forms of true in XML Schema. */
function isYes(text: string | undefined): boolean {
  return text === 'true' || text === '1';
}

/** Undefined for no amount, for zero, and for one that its currency cannot have. */
function readMoney(amount: Amount | undefined): Money | undefined {
  const currency = amount && findCurrency(amount['@Ccy']);
  if (amount === undefined || currency === undefined) return undefined;
  const parsed = parseAmount(amount['#text'], currency);
  return parsed.ok ? { currency: currency.code, amountMinor: parsed.minor } : undefined;
}
