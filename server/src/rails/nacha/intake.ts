import type { InboundMessage, InboundProblem, RailObservation } from '../contract/contract.ts';
import { readAddendaField } from './addenda-layout.ts';
import { changeTexts } from './change-codes.ts';
import { type InboundEntry, type InboundFault, readInboundFile } from './inbound-reader.ts';
import { matchEntry, readCode } from './matching.ts';
import type { Context, PaymentRecord } from './records.ts';
import { readReturnCode } from './return-codes.ts';

/**
 * Applies a file of the bank. Every part of it becomes an observation or an inbound problem; nothing is
 * dropped (docs/decisions/0015-inbound-rule.md).
 */

export type InboundFile = {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** SHA-256 in hexadecimal digits. */
  readonly digest: string;
};

type Finding = {
  readonly observation?: RailObservation;
  readonly end?: End;
  readonly problem?: InboundProblem;
};

type End = {
  readonly state: 'returned' | 'rejected';
  readonly reportId: string;
  readonly code: string;
  readonly amountMinor: bigint;
};

/** `unreadable`: no entry of it can be read. A file with faults may not be complete yet. */
export type Condition = 'sound' | 'has_faults' | 'unreadable';

/** More problems without an amount are counted in one last problem. */
const problemsMax = 100;

export function inspect(bytes: Uint8Array): Condition {
  const { entries, faults } = readInboundFile(bytes);
  if (faults.length === 0) return 'sound';
  return entries.length === 0 ? 'unreadable' : 'has_faults';
}

/**
 * Reports the file and stores its returns. A crash in between leaves it in the inbox; a second report
 * has no effect, since observations and problems have the same ids.
 */
export async function applyFile(context: Context, file: InboundFile): Promise<void> {
  const { entries, faults } = readInboundFile(file.bytes);
  const findings: Finding[] = faults.map((fault) => ({ problem: describeFault(file, fault) }));
  for (const entry of entries) findings.push(await applyEntry(context, file, entry));
  await context.host.receive(describeMessage(file, findings));
  for (const { observation, end, problem } of findings) {
    if (observation !== undefined && end !== undefined) await endPayment(context, observation, end);
    if (problem !== undefined) {
      context.host.log('error', 'part of a bank file is not applied', { problem: problem.id });
    }
  }
}

/** A file that is too long to be read as a whole. */
export async function reportLargeFile(
  { host }: Context,
  { name, digest, bytesMax }: { name: string; digest: string; bytesMax: number },
): Promise<void> {
  const problem: InboundProblem = {
    id: `${digest.slice(0, 24)}-large`,
    kind: 'unreadable',
    detail: `${nameFile(name)} is longer than ${bytesMax} bytes`,
  };
  await host.receive({
    id: `large-${digest}`,
    channel: 'file',
    raw: new Uint8Array(0),
    observations: [],
    problems: [problem],
  });
  host.log('error', 'a file of the bank is too long', { problem: problem.id });
}

function describeMessage(file: InboundFile, findings: readonly Finding[]): InboundMessage {
  const observations = new Map<string, RailObservation>();
  const problems = new Map<string, InboundProblem>();
  for (const { observation, problem } of findings) {
    if (observation !== undefined) observations.set(observation.id, observation);
    if (problem !== undefined) problems.set(problem.id, problem);
  }
  return {
    id: `inbound-${file.digest}`,
    channel: 'file',
    raw: file.bytes,
    observations: [...observations.values()],
    problems: boundProblems(file, [...problems.values()]),
  };
}

function boundProblems(file: InboundFile, problems: InboundProblem[]): InboundProblem[] {
  if (problems.length <= problemsMax) return problems;
  // Problems with an amount come first: a summary must not replace them.
  const sorted = problems.toSorted(
    (a, b) => Number(b.amountMinor !== undefined) - Number(a.amountMinor !== undefined),
  );
  const money = sorted.filter(({ amountMinor }) => amountMinor !== undefined).length;
  const kept = sorted.slice(0, Math.max(money, problemsMax));
  if (kept.length === problems.length) return kept;
  const detail = `${nameFile(file.name)}: ${problems.length - kept.length} further faults`;
  return [...kept, { id: `${file.digest.slice(0, 24)}-more`, kind: 'unreadable', detail }];
}

function describeFault(file: InboundFile, fault: InboundFault): InboundProblem {
  const { kind, line, detail, amountMinor } = fault;
  return {
    id: `${file.digest.slice(0, 24)}-${kind}-${line}`,
    kind,
    detail: `${nameFile(file.name)}, line ${line}: ${detail}`,
    ...(amountMinor === undefined ? {} : { currency: 'USD', amountMinor }),
  };
}

/** Names of files are the bank's and may hold anything. */
function nameFile(name: string): string {
  return `file ${name.replaceAll(/[^ -~]/g, '?').slice(0, 100)}`;
}

async function applyEntry(
  context: Context,
  file: InboundFile,
  entry: InboundEntry,
): Promise<Finding> {
  const code = readCode(entry);
  const match = await matchEntry(context, entry);
  // The fault of its batch is reported already and covers the entries that were not read.
  if (!entry.isBatchSound && (match.kind !== 'payment' || code === undefined)) return {};
  const report: Report = { file, entry, code: code ?? 'none' };
  if (code === undefined) return { problem: describeProblem(report, 'its code is unknown') };
  if (match.kind === 'own_debit') {
    return { problem: describeProblem(report, 'it is about the debit of our own account') };
  }
  if (match.kind === 'none') {
    return { problem: describeProblem(report, match.why, 'unmatched') };
  }
  if (entry.record.typeCode === '98') return describeChange(context, report, match.payment);
  return describeReturn(context, report, match);
}

type Report = {
  readonly file: InboundFile;
  readonly entry: InboundEntry;
  readonly code: string;
};

function describeReturn(
  context: Context,
  report: Report,
  { payment, amountMinor }: { payment: PaymentRecord; amountMinor: bigint },
): Finding {
  const { entry, code } = report;
  const { stage, reason } = readReturnCode(code);
  if (stage === 'dishonored' || stage === 'contested') {
    const why = `it is a ${stage} return of the payment ${payment.key}: the banks disagree`;
    return { problem: describeProblem(report, why) };
  }
  if (entry.amountMinor === 0n) {
    return { problem: describeProblem(report, `it returns 0.00 of the payment ${payment.key}`) };
  }
  const reportId = formatReportId(report, payment);
  const knownMinor = payment.value.returnedMinor[reportId];
  if (knownMinor !== undefined && knownMinor !== entry.amountMinor) {
    const why = `the bank reported this return of the payment ${payment.key} with another amount before`;
    return { problem: describeProblem(report, why) };
  }
  const isWhole = entry.amountMinor === amountMinor;
  const state = chooseEnd(payment, { reportId, isEdit: stage === 'edit', isWhole });
  return {
    observation: {
      ...describeBase(context, report, payment),
      id: `${state}-${reportId}`,
      outcome: state,
      reason,
      ...(state === 'returned' ? { amountMinor: entry.amountMinor } : {}),
    },
    end: { state, reportId, code, amountMinor: entry.amountMinor },
  };
}

function describeChange(context: Context, report: Report, payment: PaymentRecord): Finding {
  const { code, file } = report;
  context.host.log('warn', 'a bank asks for a correction of the details', {
    reference: payment.key,
    code,
    text: changeTexts[code] ?? '',
    file: file.digest.slice(0, 12),
  });
  return {
    observation: {
      ...describeBase(context, report, payment),
      id: `change-${formatReportId(report, payment)}-${code}`,
      outcome: 'accepted',
    },
  };
}

function describeBase({ host }: Context, { entry, code }: Report, payment: PaymentRecord) {
  return {
    reference: payment.key,
    code,
    providerReference: readAddendaField(entry.record, 'originalTrace'),
    atMs: host.nowMs(),
  };
}

/**
 * The returning bank's trace number distinguishes two returns of one payment, in any file. The code does
 * not: a bank that corrects it returns the money once.
 */
function formatReportId({ entry }: Report, payment: PaymentRecord): string {
  return `${payment.key}-${readAddendaField(entry.record, 'trace')}`;
}

function describeProblem(
  { file, entry, code }: Report,
  why: string,
  kind: InboundProblem['kind'] = 'not_understood',
): InboundProblem {
  const { record, amountMinor, line } = entry;
  const originalTrace = readAddendaField(record, 'originalTrace');
  const trace = readAddendaField(record, 'trace');
  const what = record.typeCode === '98' ? 'notification of change' : 'return';
  return {
    // The same entry in another file is the same problem.
    id: `${kind}-${originalTrace}-${code}-${trace}-${amountMinor}`,
    kind,
    detail:
      `${nameFile(file.name)}, line ${line}: ${what} ${code} of the original trace ${originalTrace}, ` +
      `returned as trace ${trace}: ${why}`,
    ...(amountMinor > 0n ? { currency: 'USD', amountMinor } : {}),
  };
}

/**
 * An edit error never reached an account: the payment is rejected. A payment that had counted as paid,
 * or came back in part, can only be returned; and what comes back after a rejection is another return.
 */
function chooseEnd(
  { state, value }: PaymentRecord,
  { reportId, isEdit, isWhole }: { reportId: string; isEdit: boolean; isWhole: boolean },
): End['state'] {
  if (state === 'rejected') return reportId in value.returnedMinor ? 'rejected' : 'returned';
  return isEdit && isWhole && state === 'filed' ? 'rejected' : 'returned';
}

async function endPayment(
  { payments }: Context,
  { reference }: RailObservation,
  { state, reportId, code, amountMinor }: End,
): Promise<void> {
  await payments.update(reference, (payment) => {
    if (payment === undefined || reportId in payment.value.returnedMinor) return undefined;
    const { returnedMinor } = payment.value;
    const isEnded = payment.state === 'returned' || payment.state === 'rejected';
    const value = {
      ...payment.value,
      ...(isEnded ? {} : { reason: readReturnCode(code).reason, code }),
      returnedMinor: { ...returnedMinor, [reportId]: amountMinor },
    };
    return { state: isEnded ? payment.state : state, value };
  });
}
