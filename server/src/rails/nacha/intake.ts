import { createHash } from 'node:crypto';
import type { RailObservation } from '../contract.ts';
import { parseAchFile } from './ach-parser.ts';
import { type Addenda, readAddendaField } from './addenda-layout.ts';
import {
  type Context,
  changePayment,
  findPayment,
  type KnownPayment,
  keepNotice,
  listOwners,
  type NoticeKind,
} from './books.ts';
import { changeTexts } from './change-codes.ts';
import { type FileMark, getMark, listNames, moveTo, readBytes } from './folder-exchange.ts';
import { assureFolder } from './folder-marker.ts';
import { AchFormatError } from './record-layout.ts';
import { readReturnCode } from './return-codes.ts';

/** Reads what the bank has put into the inbox: returns, notifications of change, letters on both. */

/** A file that cannot be read may not be whole yet: it is refused when it has not changed since. */
export type SeenMarks = Map<string, FileMark>;

const bytesMax = 64 * 1024 * 1024;

/** Whether all that lay there has been dealt with. */
export async function readInbox(context: Context, seen: SeenMarks): Promise<boolean> {
  const { inbox } = context.config.folders;
  await assureFolder(context.host, inbox);
  let isAllRead = true;
  for (const name of await listNames(inbox)) {
    const mark = await getMark(inbox, name);
    const before = seen.get(name);
    seen.set(name, mark);
    const isSettled = before?.bytes === mark.bytes && before.changedMs === mark.changedMs;
    if (await readInboxFile(context, name, isSettled)) seen.delete(name);
    else isAllRead = false;
  }
  return isAllRead;
}

/** Whether the file is dealt with. */
async function readInboxFile(context: Context, name: string, isSettled: boolean): Promise<boolean> {
  const { inbox, archive } = context.config.folders;
  const { bytes: size } = await getMark(inbox, name);
  const bytes = size > bytesMax ? new Uint8Array(0) : await readBytes(inbox, name);
  const digest = createHash('sha256').update(bytes).digest('hex');
  const told = tryParse(bytes);
  if (typeof told === 'string') {
    if (!isSettled) return false;
    await context.host.hear({
      id: `file-${digest}`,
      channel: 'file',
      raw: bytes,
      observations: [],
    });
    await keepNotice(context, `file-${digest}`, {
      kind: 'refused_file',
      fault: told,
      atMs: context.host.nowMs(),
    });
    context.host.log('error', 'a file of the bank is refused', { fault: told });
    await moveTo(inbox, name, { folder: archive, name: `${name}.${digest.slice(0, 12)}.refused` });
    return true;
  }
  await applyFile(context, told, { bytes, digest });
  await moveTo(inbox, name, { folder: archive, name: `${name}.${digest.slice(0, 12)}` });
  return true;
}

/** An entry that came back, or a letter about one, as its addenda say. */
type Told = { readonly record: Addenda; readonly amountMinor: bigint };

function tryParse(bytes: Uint8Array): readonly Told[] | string {
  try {
    const { batches } = parseAchFile(bytes, 'lenient');
    return batches.flatMap(({ entries }) =>
      entries.flatMap(({ detail, addenda }) =>
        addenda
          .filter(({ typeCode }) => typeCode === '98' || typeCode === '99')
          .map((record) => ({ record, amountMinor: BigInt(detail.amount) })),
      ),
    );
  } catch (error) {
    if (error instanceof AchFormatError) return error.message;
    throw error;
  }
}

/** What follows from one told entry: an observation, a change of our books, something to see. */
type Finding = {
  readonly observation?: RailObservation;
  readonly end?: { readonly state: 'returned' | 'rejected'; readonly code: string };
  readonly notice?: { readonly key: string; readonly kind: NoticeKind; readonly told: Told };
};

async function applyFile(
  context: Context,
  told: readonly Told[],
  { bytes, digest }: { bytes: Uint8Array; digest: string },
): Promise<void> {
  const findings: Finding[] = [];
  for (const entry of told) findings.push(await findOut(context, entry));
  const observations = new Map<string, RailObservation>();
  for (const { observation } of findings) {
    if (observation !== undefined) observations.set(observation.id, observation);
  }
  // Heard first: after a crash the file is still in the inbox, and is heard again in vain.
  await context.host.hear({
    id: `file-${digest}`,
    channel: 'file',
    raw: bytes,
    observations: [...observations.values()],
  });
  for (const finding of findings) await keepFinding(context, finding);
}

async function findOut(context: Context, told: Told): Promise<Finding> {
  const { record } = told;
  const code = readCode(record);
  const originalTrace = readAddendaField(record, 'originalTrace');
  const key = `${originalTrace}-${code}-${readAddendaField(record, 'trace')}`;
  const payment = await findOwner(context, told);
  if (payment === undefined) return { notice: { key, kind: 'unmatched', told } };
  // The returning bank's own number tells two returns of one payment apart, whatever file they are in.
  const id = `${payment.key}-${code}-${readAddendaField(record, 'trace')}`;
  const base = {
    reference: payment.key,
    code,
    providerReference: originalTrace,
    atMs: context.host.nowMs(),
  };
  if (record.typeCode === '98') {
    return {
      observation: { ...base, id: `change-${id}`, outcome: 'accepted' },
      notice: { key, kind: 'change', told },
    };
  }
  const { stage, reason } = readReturnCode(code);
  if (stage === 'dishonored' || stage === 'contested') {
    // A letter between the banks: what becomes of the money a person has to see.
    return {
      observation: { ...base, id: `letter-${id}`, outcome: 'accepted' },
      notice: { key, kind: stage, told },
    };
  }
  const state = chooseEnd(payment, stage === 'edit');
  return {
    observation: {
      ...base,
      id: `${state}-${id}`,
      outcome: state,
      reason,
      ...(state === 'returned' ? { amountMinor: told.amountMinor } : {}),
    },
    end: { state, code },
  };
}

/** An error of form never reached an account; what had counted as paid can only come back. */
function chooseEnd(payment: KnownPayment, isEdit: boolean): 'returned' | 'rejected' {
  if (payment.state === 'returned' || payment.state === 'rejected') return payment.state;
  return isEdit && payment.state === 'filed' ? 'rejected' : 'returned';
}

/** Codes only: what stands in the place of one may be anything. */
function readCode(record: Addenda): string {
  const code = readAddendaField(record, 'code');
  return /^[A-Z][0-9]{2}$/.test(code) ? code : 'none';
}

/**
 * Whose entry it was, by its trace number and amount: ACH returns the whole of an entry, so that
 * another amount is of another entry. A notification of change, and a letter, have no amount of
 * their own.
 */
async function findOwner(context: Context, told: Told): Promise<KnownPayment | undefined> {
  const { record, amountMinor } = told;
  const owners = await listOwners(context, readAddendaField(record, 'originalTrace'));
  const stage = readReturnCode(readCode(record)).stage;
  const hasAmount = record.typeCode === '99' && (stage === 'posted' || stage === 'edit');
  const owner = owners.find(
    (candidate) => !hasAmount || BigInt(candidate.amountMinor) === amountMinor,
  );
  if (owner === undefined || owner.reference === '') return undefined;
  return findPayment(context, owner.reference);
}

const conflictsMax = 10;

async function keepFinding(context: Context, { observation, end, notice }: Finding): Promise<void> {
  const { host } = context;
  if (end !== undefined && observation !== undefined) {
    await endPayment(context, observation.reference, end);
  }
  if (notice === undefined) return;
  const { key, kind, told } = notice;
  const code = readCode(told.record);
  const reference = observation?.reference ?? '';
  await keepNotice(context, key, {
    kind,
    code,
    reference,
    text: changeTexts[code] ?? readReturnCode(code).text,
    amountMinor: told.amountMinor.toString(),
    addenda: told.record.values,
    atMs: host.nowMs(),
  });
  host.log('warn', describeNotice(kind), { code, reference });
}

function describeNotice(kind: NoticeKind): string {
  switch (kind) {
    case 'change':
      return 'a bank asks for a correction of the details';
    case 'dishonored':
      return 'a return was dishonored';
    case 'contested':
      return 'a dishonored return is contested';
    case 'unmatched':
      return 'a bank tells of an entry that is not ours, or is our own debit';
    case 'refused_file':
      return 'a file of the bank is refused';
  }
}

async function endPayment(
  context: Context,
  reference: string,
  { state, code }: { readonly state: 'returned' | 'rejected'; readonly code: string },
): Promise<void> {
  for (let conflicts = 0; conflicts < conflictsMax; conflicts += 1) {
    const payment = await findPayment(context, reference);
    if (payment === undefined || payment.state === 'returned' || payment.state === 'rejected')
      return;
    const value = { ...payment.value, reason: readReturnCode(code).reason, code };
    if (await context.host.store.write([changePayment(payment, { state, value })])) return;
  }
  throw new Error(`the return of ${reference} could not be written down`);
}
