import { z } from 'zod';
import { readBalance } from './balances.ts';
import type { ReportSource } from './camt.ts';

/**
 * What account reports (camt.053, camt.054) say about their place in a series: pages, sequence numbers
 * and balances. A head that cannot be read has none, because entries count regardless of it.
 */

const text = z.string().optional().catch(undefined);

const paginationSchema = z
  .object({ PgNb: z.string().regex(/^\d{1,5}$/), LastPgInd: z.string() })
  .optional()
  .catch(undefined);
type Pagination = z.output<typeof paginationSchema>;

const reportSchema = z.object({
  Id: text,
  StmtPgntn: paginationSchema,
  NtfctnPgntn: paginationSchema,
  ElctrncSeqNb: text,
  LglSeqNb: text,
  CreDtTm: text,
  FrToDt: z.object({ ToDtTm: text }).optional().catch(undefined),
  Acct: z.object({
    Id: z.object({ IBAN: text, Othr: z.object({ Id: z.string() }).optional() }),
    Ccy: text,
  }),
  Bal: z.array(z.unknown()).max(1_000).default([]).catch([]),
});
type Report = z.output<typeof reportSchema>;

const headerSchema = z.object({ CreDtTm: text, MsgPgntn: paginationSchema });

const reportsSchema = z.array(z.unknown()).max(10_000);
const messageSchema = z.union([
  z.object({ BkToCstmrStmt: z.object({ GrpHdr: headerSchema, Stmt: reportsSchema }) }),
  z.object({ BkToCstmrDbtCdtNtfctn: z.object({ GrpHdr: headerSchema, Ntfctn: reportsSchema }) }),
]);

export type StatementHead = {
  readonly source: ReportSource;
  /** IBAN or other id. */
  readonly account: string;
  readonly currency: string;
  /** The bank's; "" where there is none. */
  readonly name: string;
  readonly electronicNumber: number | null;
  readonly legalNumber: number | null;
  /** The day that it closes, YYYY-MM-DD, or "". */
  readonly day: string;
  /** Minor units, signed, as text: of `currency`. */
  readonly opening: string | null;
  readonly closing: string | null;
  /** Null: it has no pages. */
  readonly page: {
    readonly number: number;
    readonly begins: boolean;
    readonly ends: boolean;
  } | null;
};

export function readStatementHeads(content: unknown): StatementHead[] {
  const parsed = messageSchema.safeParse(content);
  if (!parsed.success) return [];
  const isStatement = 'BkToCstmrStmt' in parsed.data;
  const { GrpHdr, reports } =
    'BkToCstmrStmt' in parsed.data
      ? { ...parsed.data.BkToCstmrStmt, reports: parsed.data.BkToCstmrStmt.Stmt }
      : { ...parsed.data.BkToCstmrDbtCdtNtfctn, reports: parsed.data.BkToCstmrDbtCdtNtfctn.Ntfctn };
  return reports.flatMap((written) => {
    const report = reportSchema.safeParse(written);
    if (!report.success) return [];
    const message = { pagination: GrpHdr.MsgPgntn, isOnly: reports.length === 1 };
    const source = isStatement ? 'statement' : 'notification';
    return [readHead(report.data, { source, createdAt: GrpHdr.CreDtTm ?? '', message })];
  });
}

type MessageParts = {
  readonly source: ReportSource;
  readonly createdAt: string;
  readonly message: { readonly pagination: Pagination; readonly isOnly: boolean };
};

function readHead(report: Report, { source, createdAt, message }: MessageParts): StatementHead {
  const account = (report.Acct.Id.IBAN ?? report.Acct.Id.Othr?.Id ?? '').replaceAll(' ', '');
  const balances = report.Bal.flatMap((written) => readBalance(account, written) ?? []);
  const currency = report.Acct.Ccy ?? balances[0]?.currency ?? '';
  const ours = balances.filter((one) => one.currency === currency);
  const opening = ours.find(({ kind }) => kind === 'OPBD' || kind === 'PRCD');
  const closing = ours.find(({ kind }) => kind === 'CLBD');
  const days = [closing?.day, report.FrToDt?.ToDtTm, report.CreDtTm, createdAt];
  return {
    source,
    account,
    currency,
    name: (report.Id ?? '').slice(0, 35),
    electronicNumber: readNumber(report.ElctrncSeqNb),
    legalNumber: readNumber(report.LglSeqNb),
    day: days.map((day) => (day ?? '').slice(0, 10)).find(isDay) ?? '',
    opening: opening?.minor.toString() ?? null,
    closing: closing?.minor.toString() ?? null,
    page: readPage(report, message, {
      hasOpening: opening !== undefined,
      hasClosing: closing !== undefined,
    }),
  };
}

const isDay = (day: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(day);

/** Some banks number by the day, such as 20260304: that is no sequence. */
function readNumber(written: string | undefined): number | null {
  if (written === undefined || !/^\d{1,9}$/.test(written)) return null;
  return /^(?:19|20)\d{6}$/.test(written) ? null : Number(written);
}

/**
 * The pages of a message may divide a statement anywhere: where the message has several, its balances
 * say whether a statement begins or ends on the page.
 */
function readPage(
  { StmtPgntn, NtfctnPgntn }: Report,
  { pagination, isOnly }: MessageParts['message'],
  { hasOpening, hasClosing }: { hasOpening: boolean; hasClosing: boolean },
): StatementHead['page'] {
  const own = StmtPgntn ?? NtfctnPgntn;
  const found = own ?? pagination;
  if (found === undefined) return null;
  const number = Number(found.PgNb);
  const isLast = found.LastPgInd === 'true' || found.LastPgInd === '1';
  const isWhole = own !== undefined || isOnly;
  return {
    number,
    begins: number <= 1 || (!isWhole && hasOpening),
    ends: isLast || (!isWhole && hasClosing),
  };
}
