import { z } from 'zod';
import { findCurrency, getCurrency } from '../../core/currency.ts';
import { formatAmount, parseAmount } from '../../core/money.ts';
import type { RailFunds, RailHost } from '../contract/contract.ts';
import { openRecords } from '../kit/records.ts';
import type { Config } from './config.ts';

/**
 * What is left on the debtor accounts, by the bank's newest statement (camt.053). Intraday
 * notifications have no balance, so that it is up to a day old.
 */

const balanceSchema = z.object({
  Tp: z.object({ CdOrPrtry: z.object({ Cd: z.string().optional() }) }),
  Amt: z.object({ '#text': z.string(), '@Ccy': z.string() }),
  CdtDbtInd: z.enum(['CRDT', 'DBIT']),
  Dt: z.object({ Dt: z.string().optional(), DtTm: z.string().optional() }),
});

const statementsSchema = z.object({
  BkToCstmrStmt: z.object({
    Stmt: z.array(
      z.object({
        Acct: z.object({
          Id: z.object({
            IBAN: z.string().optional(),
            Othr: z.object({ Id: z.string() }).optional(),
          }),
        }),
        Bal: z.array(z.unknown()).max(1_000).default([]),
      }),
    ),
  }),
});

export type StatementBalance = {
  /** ISO 20022: CLBD for the closing balance, OPBD for the opening one, and others. */
  readonly kind: string;
  readonly account: string;
  readonly currency: string;
  /** Negative where the account is overdrawn. */
  readonly minor: bigint;
  /** YYYY-MM-DD. */
  readonly day: string;
};

/** The closing balances (CLBD) of a statement; none of another message, and none that is unclear. */
export function readBalances(content: unknown): StatementBalance[] {
  const parsed = statementsSchema.safeParse(content);
  if (!parsed.success) return [];
  return parsed.data.BkToCstmrStmt.Stmt.flatMap(({ Acct, Bal }) => {
    const account = (Acct.Id.IBAN ?? Acct.Id.Othr?.Id ?? '').replaceAll(' ', '');
    const balances = Bal.flatMap((written) => readBalance(account, written) ?? []);
    return balances.filter(({ kind }) => kind === 'CLBD');
  });
}

/** Undefined where it is unclear. */
export function readBalance(account: string, written: unknown): StatementBalance | undefined {
  const parsed = balanceSchema.safeParse(written);
  if (!parsed.success) return undefined;
  const { Amt, CdtDbtInd, Dt } = parsed.data;
  const kind = parsed.data.Tp.CdOrPrtry.Cd ?? '';
  const currency = findCurrency(Amt['@Ccy']);
  const day = (Dt.Dt ?? Dt.DtTm ?? '').slice(0, 10);
  if (currency === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(day)) return undefined;
  const amount = /^0+(?:\.0*)?$/.test(Amt['#text']) ? 0n : readMinor(Amt['#text'], currency.code);
  if (amount === undefined) return undefined;
  const minor = CdtDbtInd === 'DBIT' ? -amount : amount;
  return { kind, account, currency: currency.code, minor, day };
}

function readMinor(text: string, code: string): bigint | undefined {
  const parsed = parseAmount(text, getCurrency(code));
  return parsed.ok ? parsed.minor : undefined;
}

function openBalances(store: RailHost['store']) {
  return openRecords(store, {
    collection: 'balances',
    states: ['reported'],
    value: z.object({
      currency: z.string(),
      minor: z.string().regex(/^-?\d{1,30}$/),
      day: z.string(),
    }),
  });
}

/** Keeps the newest balance of each debtor account; others are not ours to pay from. */
export async function recordBalances(
  { host, config }: { host: Pick<RailHost, 'store'>; config: Pick<Config, 'debtors'> },
  balances: readonly StatementBalance[],
): Promise<void> {
  const records = openBalances(host.store);
  for (const { account, currency, minor, day } of balances) {
    const debtor = config.debtors.find(
      (one) => (one.iban || one.account.replaceAll(' ', '')) === account,
    );
    if (debtor === undefined) continue;
    await records.update(`${debtor.key} ${currency}`, (record) =>
      record !== undefined && record.value.day > day
        ? undefined
        : { state: 'reported', value: { currency, minor: minor.toString(), day } },
    );
  }
}

const dayMs = 86_400_000;

/** By currency, over all debtor accounts; as of the end of the day of the oldest statement. */
export async function readFunds(host: Pick<RailHost, 'store'>): Promise<RailFunds[]> {
  const records = await Array.fromAsync(openBalances(host.store).list());
  const byCurrency = Map.groupBy(records, ({ value }) => value.currency);
  return [...byCurrency].map(([code, some]) => {
    const minor = some.reduce((sum, { value }) => sum + BigInt(value.minor), 0n);
    const currency = getCurrency(code);
    const amount = formatAmount(minor, currency);
    const days = some.map(({ value }) => Date.parse(`${value.day}T00:00:00Z`));
    return { currency: code, amount, asOfMs: Math.min(...days) + dayMs };
  });
}
