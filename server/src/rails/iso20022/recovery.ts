import { listCountries } from '../../core/country.ts';
import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import type { RailHost, RecoveredPayment } from '../contract/contract.ts';
import type { Config } from './config.ts';
import type { Exchange } from './exchange.ts';
import type { Files } from './files.ts';
import { type InboxContext, movedPattern, processFiles, reprocessFile } from './inbox.ts';
import type { PaymentBook } from './payments.ts';
import { listSentFiles, nameOf } from './sent-files.ts';
import { readWrittenFile, type WrittenFile, type WrittenPayment } from './written-file.ts';

/**
 * Lists the payments of the rail's files with the outcomes of the bank's files. Both are in folders,
 * which a restore of the database does not change. Every payment file is recorded again, so that none
 * of its payments is sent twice, every message of the bank is processed again, and files in quarantine
 * are reported again.
 */

export type RecoveryParts = {
  readonly host: RailHost;
  readonly config: Config;
  readonly book: PaymentBook;
  readonly files: Files;
  readonly inbox: InboxContext;
};

/** Messages that were written before the backup may have been processed after it. */
const marginMs = 7 * 86_400_000;

export async function recoverPayments(
  exchange: Exchange,
  parts: RecoveryParts,
  { sinceMs, signal }: { sinceMs: number; signal: AbortSignal },
): Promise<RecoveredPayment[]> {
  const { config, files, book, host } = parts;
  const listed: WrittenFile[] = [];
  for (const sent of await listSentFiles(exchange, config)) {
    signal.throwIfAborted();
    const known = await files.find(sent.messageId);
    const bytes = await exchange[sent.folder].read(nameOf(sent), config.fileBytesMax);
    const written = readWrittenFile(bytes);
    if (known === undefined) {
      await files.adopt(written);
      host.log('warn', 'a payment file was recorded again', { message: written.messageId });
    }
    // A file that the database had lost is listed regardless of its time.
    if (known === undefined || Date.parse(written.createdAt) >= sinceMs) listed.push(written);
  }
  await reprocessMessages(exchange, parts, { sinceMs, signal });
  const recovered: RecoveredPayment[] = [];
  for (const file of listed) {
    for (const payment of file.payments) recovered.push(await describe(payment, file, book));
  }
  return recovered;
}

async function reprocessMessages(
  exchange: Exchange,
  { host, inbox }: RecoveryParts,
  { sinceMs, signal }: { sinceMs: number; signal: AbortSignal },
): Promise<void> {
  // The virtual clock may be ahead of the machine's clock, which files follow.
  const fromMs = sinceMs - (host.nowMs() - host.realNowMs()) - marginMs;
  for (const folder of ['archive', 'quarantine'] as const) {
    const files = (await exchange[folder].list())
      .filter(({ name, changedAtMs }) => movedPattern.test(name) && changedAtMs >= fromMs)
      // Names begin with a hash, and a message may refer to what an earlier one has reported.
      .toSorted((a, b) => a.changedAtMs - b.changedAtMs);
    for (const file of files) {
      signal.throwIfAborted();
      await reprocessFile({ folder, file }, exchange, inbox);
    }
  }
  await processFiles(exchange, inbox, signal);
}

const outcomes = {
  waiting: 'unknown',
  filed: 'accepted',
  accepted: 'accepted',
  rejected: 'rejected',
  paid: 'paid',
  returned: 'returned',
} as const;

async function describe(
  written: WrittenPayment,
  file: WrittenFile,
  book: PaymentBook,
): Promise<RecoveredPayment> {
  const { reference, currency, account } = written;
  const payment = await book.find(reference);
  const isIban = /^[A-Z]{2}\d{2}/.test(account);
  const country = listCountries().find(({ alpha2 }) => isIban && account.startsWith(alpha2));
  const payerKey = payment?.value.order.payerKey ?? '';
  const isElsewhere = payment !== undefined && payment.value.messageId !== file.messageId;
  const also = isElsewhere ? `, and in file ${payment.value.messageId || '(none)'}` : '';
  return {
    reference,
    ...(payerKey === '' ? {} : { payerKey }),
    ...(country === undefined ? {} : { countryCode: country.code }),
    currency,
    amountMinor: getAmountMinor(written.amount, getCurrency(currency)),
    outcome: payment === undefined ? 'unknown' : outcomes[payment.state],
    atMs: Date.parse(file.createdAt),
    detail: `payment file ${file.messageId}${also}`,
  };
}
