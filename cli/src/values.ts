import { accessSync, constants, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type Decimal, decimal } from '../../sdk/src/index.ts';
import { UsageError } from './failure.ts';

/** Reads what people type, and writes what they read. */

/** @throws UsageError unless it is an amount such as 12.50. */
export function readAmount(text: string, option: string): Decimal {
  if (isAmount(text)) return decimal(text);
  throw new UsageError(`${option} must be an amount such as 12.50, without separators: ${text}`);
}

export function isAmount(text: string): boolean {
  return /^(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text);
}

/** @throws UsageError unless it is a whole number from 0. */
export function readCount(text: string, option: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`${option} must be a whole number: ${text}`);
}

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Seconds of `90s`, `30m`, `12h`, `10d`, `2w`. @throws UsageError for anything else. */
export function readDuration(text: string, option: string): number {
  const [, count = '', unit = ''] = /^(\d{1,9})([smhdw])$/.exec(text) ?? [];
  if (count !== '') return Number(count) * (units[unit] ?? 0);
  throw new UsageError(`${option} must be a time such as 90s, 30m, 12h, 10d or 2w: ${text}`);
}

/** Values of `name=value`. @throws UsageError without `=`. */
export function readPairs(texts: readonly string[], option: string): [string, string][] {
  return texts.map((text) => {
    const place = text.indexOf('=');
    if (place > 0) return [text.slice(0, place), text.slice(place + 1)];
    throw new UsageError(`${option} must be name=value: ${text}`);
  });
}

/**
 * Whether a result can be saved there: what was paid stays paid if it cannot.
 *
 * @throws UsageError for a folder, or a file in a folder that cannot be written to.
 */
export function checkWritable(file: string, option: string): void {
  try {
    accessSync(dirname(resolve(file)), constants.W_OK);
    if (statSync(file, { throwIfNoEntry: false })?.isDirectory() !== true) return;
  } catch {
    // Said below.
  }
  throw new UsageError(`${option} must be a file in a folder that can be written to: ${file}`);
}

/** Of new files that name recipients: only their owner reads them. */
export const privateMode = 0o600;

/** A word of a command that a shell reads as it is. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** What a reader of an option objects to. */
export function findFault(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}

/** A time of the API as `2026-11-22 12:00 UTC`; empty stays empty. */
export function formatTime(text: string): string {
  const [, day, time] = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)/.exec(text) ?? [];
  return day === undefined ? text : `${day} ${time} UTC`;
}

export function formatMoney(amount: Decimal | undefined, currency: string): string {
  return amount === undefined ? '' : `${amount.text} ${currency}`;
}

/** What arrives, with the chain of a token: what is sent on another one is lost. */
export function formatArrival(
  amount: Decimal | undefined,
  { currency, network }: { readonly currency: string; readonly network: string },
): string {
  const money = formatMoney(amount, currency);
  return network === '' ? money : `${money} on ${network}`;
}

/** `BANK_DEPOSIT` as `bank deposit`. */
export function formatCode(code: string): string {
  return code.toLowerCase().replaceAll('_', ' ');
}
