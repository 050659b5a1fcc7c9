import { isRoutingNumber } from './aba.ts';
import type { AchFile } from './ach-file.ts';
import { parseAchFile } from './ach-parser.ts';
import { readAddendaField } from './addenda-layout.ts';
import { type BuiltFile, readRemittance } from './build-file.ts';
import type { Draft } from './drafts.ts';
import { AchFormatError } from './record-layout.ts';

/**
 * The final check before a file is sealed: reads it as a bank would and compares it with the drafts,
 * each reference once with its amount, bank, account and direction, and no other entry.
 *
 * @throws AchFormatError that names the reference where anything differs.
 */
export function checkBuiltFile({ text, offsetTraces }: BuiltFile, drafts: readonly Draft[]): void {
  if (!/^[ -~\r\n]*$/.test(text)) throw new AchFormatError('a file must be ASCII');
  const wanted = new Map(drafts.map((draft) => [draft.reference, draft]));
  const offsets = new Set(offsetTraces);
  for (const entry of listEntries(parseAchFile(Buffer.from(text, 'ascii')))) {
    if (offsets.has(entry.trace)) continue;
    const draft = wanted.get(entry.reference);
    if (draft === undefined) throw new AchFormatError('the file has an entry that was not ordered');
    wanted.delete(entry.reference);
    const isSame =
      entry.amountMinor === draft.amountMinor &&
      entry.routingNumber === draft.routingNumber &&
      isRoutingNumber(entry.routingNumber) &&
      entry.account === draft.account &&
      /^[0-9A-Za-z-]{1,35}$/.test(entry.account) &&
      entry.transactionCode === draft.transactionCode;
    if (!isSame)
      throw new AchFormatError(`the entry of ${draft.reference} differs from what was ordered`);
  }
  if (wanted.size > 0) throw new AchFormatError(`the file lacks ${wanted.size} entries`);
}

export type ReadEntry = {
  readonly trace: string;
  /** "" where the addenda name none. */
  readonly reference: string;
  readonly amountMinor: bigint;
  readonly routingNumber: string;
  readonly account: string;
  readonly transactionCode: string;
};

/** All entries of a file with the reference that their addenda carry. */
export function listEntries(file: AchFile): ReadEntry[] {
  return file.batches.flatMap((batch) =>
    batch.entries.map(({ detail, addenda }) => {
      const note = addenda.find(({ typeCode }) => typeCode === '05' || typeCode === '17');
      const information = note === undefined ? '' : readAddendaField(note, 'information');
      return {
        trace: detail.trace,
        reference: readRemittance(information) ?? '',
        amountMinor: BigInt(detail.amount),
        routingNumber: `${detail.rdfi}${detail.checkDigit}`,
        account: detail.account,
        transactionCode: detail.transactionCode,
      };
    }),
  );
}
