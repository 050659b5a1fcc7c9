import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { RailHost } from '../contract/contract.ts';
import { toLocalTime } from '../kit/calendar.ts';
import { type MissingReport, reportMissing } from '../kit/missing-reports.ts';
import { openRecords } from '../kit/records.ts';
import type { Config, Debtor } from './config.ts';
import type { StatementHead } from './statement-heads.ts';
import { addToSeries, findGaps, type SeriesGap, seriesSchema } from './statement-series.ts';

/**
 * Notices reports that the bank has not sent: pages and numbers of a series of statements, and statements
 * after payments. A report may be late, so that a gap opens an exception only after `lateHours`, and
 * nothing else waits for it.
 */

type Parts = {
  readonly host: Pick<RailHost, 'store' | 'nowMs' | 'receive' | 'log'>;
  readonly config: Pick<Config, 'debtors' | 'reports' | 'schedule'>;
};

const openSeries = ({ store }: Pick<RailHost, 'store'>) =>
  openRecords(store, { collection: 'statements', states: ['known'], value: seriesSchema });

/** By debtor: since when a statement is awaited that has the payments sent then. */
const openAwaited = ({ store }: Pick<RailHost, 'store'>) =>
  openRecords(store, {
    collection: 'awaited_statements',
    states: ['awaited', 'reported', 'received'],
    value: z.object({ sinceMs: z.number() }),
  });

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

function findDebtor({ config }: Pick<Parts, 'config'>, account: string): Debtor | undefined {
  return config.debtors.find((one) => (one.iban || one.account.replaceAll(' ', '')) === account);
}

/** Records the heads of a message; those of accounts that are not ours to pay from are left out. */
export async function recordHeads(
  parts: Pick<Parts, 'config'> & { readonly host: Pick<RailHost, 'store' | 'nowMs'> },
  heads: readonly StatementHead[],
): Promise<void> {
  const { host, config } = parts;
  const nowMs = host.nowMs();
  for (const head of heads) {
    const debtor = findDebtor(parts, head.account);
    if (debtor === undefined || head.day === '') continue;
    if (head.source === 'statement') await endAwaited(parts, debtor, head.day);
    // Most banks give many notifications a day, which the statement repeats.
    const hasNumbers = config.reports.checks.includes('notification_numbers');
    if (head.source === 'notification' && head.page === null && !hasNumbers) continue;
    const key = `${head.source} ${debtor.key} ${head.currency}`;
    await openSeries(host).update(key, (record) => {
      const members = addToSeries(record?.value.members ?? [], head, nowMs);
      return members && { state: 'known', value: { members } };
    });
  }
}

async function endAwaited(
  { host, config }: Pick<Parts, 'config'> & { readonly host: Pick<RailHost, 'store'> },
  debtor: Debtor,
  day: string,
): Promise<void> {
  await openAwaited(host).update(debtor.key, (record) => {
    const sentOn = toLocalTime(config.schedule.timeZone, record?.value.sinceMs ?? 0).day;
    // A bank that has never given a statement is not expected to.
    if (record?.state === 'received' || (record !== undefined && day < sentOn)) return undefined;
    return { state: 'received', value: { sinceMs: 0 } };
  });
}

/** Payments from the accounts left, which a statement will have. */
export async function noteSent(
  { host }: Pick<Parts, 'host'>,
  debtorKeys: Iterable<string>,
): Promise<void> {
  for (const key of debtorKeys) {
    await openAwaited(host).update(key, (record) =>
      record?.state === 'received'
        ? { state: 'awaited', value: { sinceMs: host.nowMs() } }
        : undefined,
    );
  }
}

/** Opens exceptions about what is missing for too long. */
export async function reportMissingStatements(parts: Parts): Promise<void> {
  await reportGaps(parts);
  await reportAwaited(parts);
}

async function reportGaps({ host, config }: Parts): Promise<void> {
  const series = openSeries(host);
  const { checks, lateHours } = config.reports;
  for await (const record of series.list()) {
    const isStatement = record.key.startsWith('statement ');
    const gaps = findGaps(record.value.members, {
      pages: checks.includes('pages'),
      numbers: checks.includes(isStatement ? 'numbers' : 'notification_numbers'),
      balances: isStatement && checks.includes('balances'),
    });
    const due = gaps.filter(
      ({ member }) => !member.isReported && host.nowMs() - member.seenAtMs >= lateHours * hourMs,
    );
    if (due.length === 0) continue;
    for (const gap of due) await reportMissing(host, describeGap(record.key, gap));
    const reported = new Set(due.map(({ member }) => member));
    const members = record.value.members.map((member) =>
      reported.has(member) ? { ...member, isReported: true } : member,
    );
    // Otherwise a report has come meanwhile, and the next pass reports the same ids.
    await series.write(record, { state: 'known', value: { members } });
  }
}

function describeGap(key: string, { member, faults, missingMinor }: SeriesGap): MissingReport {
  const [source, debtor, currency = ''] = key.split(' ');
  const { name, day, electronic, legal } = member;
  const id = hashText([key, name, day, String(electronic), String(legal)].join('\n'));
  const number = electronic[0] ?? legal[0];
  const what = `${source}${number === undefined ? '' : ` ${number}`} of ${day}, debtor ${debtor}`;
  const detail =
    `${what}: ${faults.join('; ')}. Payments and returns in the missing reports are not ` +
    'applied: ask the bank to send them again';
  const amountMinor = missingMinor < 0n ? -missingMinor : missingMinor;
  const money = amountMinor > 0n && currency !== '' ? { currency, amountMinor } : {};
  return { id: `missing:${id}`, detail, ...money };
}

async function reportAwaited({ host, config }: Parts): Promise<void> {
  const { statementDays } = config.reports;
  if (statementDays === 0) return;
  const awaited = openAwaited(host);
  for await (const record of awaited.list({ state: 'awaited' })) {
    const { sinceMs } = record.value;
    if (host.nowMs() - sinceMs < statementDays * dayMs) continue;
    const sentOn = new Date(sinceMs).toISOString().slice(0, 10);
    const detail =
      `debtor ${record.key}: payments left on ${sentOn}, and no statement of that day or a later one ` +
      `has come in ${statementDays} days: ask the bank`;
    const id = `no-statement:${hashText(`${record.key} ${sinceMs}`)}`;
    await reportMissing(host, { id, detail });
    await awaited.write(record, { state: 'reported', value: record.value });
  }
}

function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
