import type { RecoveredPayment } from '../contract/contract.ts';
import { type Folder, FolderError, type FolderFile } from '../kit/folder.ts';
import { readAddendaField } from './addenda-layout.ts';
import { applyArchived, bytesMax, listArchived } from './archive.ts';
import { type InboundEntry, readInboundFile } from './inbound-reader.ts';
import { listWrittenFiles, type Manifest, readWrittenFile } from './manifest.ts';
import { readCode } from './matching.ts';
import { reconcileFiles } from './reconcile.ts';
import type { Context } from './records.ts';
import { readReturnCode } from './return-codes.ts';

/**
 * Brings the rail's records up to what its folders show, then lists what the rail did by the folders
 * alone: the files that it wrote, and the returns among the bank's files. The payments of a file that the
 * database lacks are recorded, so that a return of them is matched; then files of the archive that it
 * lacks are applied. Files in the inbox are left to the next pass.
 *
 * @throws FolderError where a folder or a file in it cannot be read.
 */
export async function recoverPayments(
  context: Context,
  { sinceMs, signal }: { readonly sinceMs: number; readonly signal: AbortSignal },
): Promise<readonly RecoveredPayment[]> {
  const { archive, inbox, outbox } = context.folders;
  await reconcileFiles(context);
  await applyArchived(context, { sinceMs, signal });
  const returns = new Map<string, InboundEntry[]>();
  await collectReturns(archive, await listArchived(context, sinceMs), returns);
  await collectReturns(inbox, await inbox.list(), returns);
  const outboxNames = (await outbox.list()).map(({ name }) => name);
  const found: RecoveredPayment[] = [];
  for (const fileId of await listWrittenFiles(context)) {
    const manifest = await readWrittenFile(context, fileId);
    if (typeof manifest === 'string') throw new FolderError(manifest);
    const place = findPlace(manifest, outboxNames);
    for (const entry of manifest.entries) {
      const reports = returns.get(entry.trace) ?? [];
      const isRecent = manifest.createdAtMs >= sinceMs;
      if (!isRecent && reports.length === 0) continue;
      found.push(describePayment({ manifest, entry, reports, place }));
    }
  }
  return found;
}

type Place = 'taken' | 'in_outbox' | 'prepared';

function findPlace({ name, handedOverAtMs }: Manifest, outboxNames: readonly string[]): Place {
  if (outboxNames.includes(name)) return 'in_outbox';
  return handedOverAtMs === undefined ? 'prepared' : 'taken';
}

const placeTexts: Readonly<Record<Place, string>> = {
  taken: 'and is no longer in the outbox',
  in_outbox: 'and is in the outbox',
  prepared: 'and perhaps never put into the outbox',
};

function describePayment({
  manifest,
  entry,
  reports,
  place,
}: {
  manifest: Manifest;
  entry: Manifest['entries'][number];
  reports: readonly InboundEntry[];
  place: Place;
}): RecoveredPayment {
  const { reference, trace, payerKey, countryCode, amountMinor } = entry;
  // Other entries may have had the same trace number before.
  const report = reports.find((one) => isAbout(one, reference, amountMinor));
  const code = report === undefined ? undefined : readCode(report);
  const isEdit = code !== undefined && readReturnCode(code).stage === 'edit';
  const ended = isEdit && report?.amountMinor === amountMinor ? 'rejected' : 'returned';
  const back = report === undefined ? '' : `; ${report.amountMinor} cents came back with ${code}`;
  return {
    reference,
    ...(payerKey === undefined ? {} : { payerKey }),
    ...(countryCode === undefined ? {} : { countryCode }),
    currency: 'USD',
    amountMinor,
    outcome: report !== undefined ? ended : place === 'prepared' ? 'unknown' : 'accepted',
    providerReference: trace,
    atMs: manifest.createdAtMs,
    detail: `entry ${trace} of the file ${manifest.name}, which was written ${placeTexts[place]}${back}`,
  };
}

function isAbout(report: InboundEntry, reference: string, amountMinor: bigint): boolean {
  const { identification } = report;
  const isOwn =
    identification === '' || identification.toLowerCase() === reference.slice(-15).toLowerCase();
  return isOwn && !report.isDebit && report.amountMinor > 0n && report.amountMinor <= amountMinor;
}

/** Only returns that end a payment, from batches whose totals are right. */
async function collectReturns(
  folder: Folder,
  files: readonly FolderFile[],
  returns: Map<string, InboundEntry[]>,
): Promise<void> {
  for (const { name, sizeBytes } of files) {
    const bytes = sizeBytes > bytesMax ? undefined : await folder.find(name, bytesMax);
    for (const entry of bytes === undefined ? [] : readInboundFile(bytes).entries) {
      const code = readCode(entry);
      if (code === undefined || entry.record.typeCode !== '99' || !entry.isBatchSound) continue;
      const { stage } = readReturnCode(code);
      if (stage !== 'posted' && stage !== 'edit') continue;
      const trace = readAddendaField(entry.record, 'originalTrace');
      returns.set(trace, [...(returns.get(trace) ?? []), entry]);
    }
  }
}
