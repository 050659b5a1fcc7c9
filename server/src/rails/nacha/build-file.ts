import type { LocalTime } from '../kit/calendar.ts';
import { getCheckDigit } from './aba.ts';
import {
  type AchFile,
  type Batch,
  closeBatch,
  closeFile,
  type Entry,
  type EntryDetail,
  type FileHeader,
  formatAchFile,
  type IatEntryDetail,
} from './ach-file.ts';
import type { Addenda } from './addenda-layout.ts';
import { formatRecordDate } from './banking-days.ts';
import type { NachaConfig } from './config.ts';
import { type Draft, entryAmountMinorMax, type International } from './drafts.ts';
import type { FileEntry } from './records.ts';

/** Builds a file from drafts: batches by class, trace numbers in file order, control sums. */
export type FilePlan = {
  readonly config: NachaConfig;
  readonly created: LocalTime;
  /** A to Z or a digit. */
  readonly modifier: string;
  /** Identifies the payments of the file, in up to eight characters. */
  readonly referenceCode: string;
  /** The settlement date, YYYY-MM-DD. */
  readonly effectiveOn: string;
  readonly drafts: readonly Draft[];
  /** The last seven digits of the first entry's trace number; the others follow without a gap. */
  readonly traceFirst: number;
};

export type BuiltFile = {
  readonly file: AchFile;
  readonly text: string;
  readonly entries: readonly FileEntry[];
  /** Of the debits to the operator's own account, in a balanced file. */
  readonly offsetTraces: readonly string[];
};

/** The totals of a file have twelve digits. */
export const fileAmountMinorMax = 999_999_999_999n;

/** How many trace numbers the file takes. */
export function countTraces(drafts: readonly Draft[], { settlement }: NachaConfig): number {
  return drafts.length + (settlement.kind === 'balanced' ? splitTotal(drafts).length : 0);
}

export function buildFile(plan: FilePlan): BuiltFile {
  const { config, drafts } = plan;
  const odfi = config.odfi.routingNumber.slice(0, 8);
  let traceNext = plan.traceFirst;
  const takeTrace = (): string => {
    const trace = `${odfi}${String(traceNext).padStart(7, '0')}`;
    traceNext += 1;
    return trace;
  };
  const batches: Batch[] = [];
  const entries: FileEntry[] = [];
  for (const group of groupDrafts(drafts)) {
    const traced = group.map((draft) => ({ draft, trace: takeTrace() }));
    for (const { draft, trace } of traced) {
      const { reference, payerKey, countryCode } = draft;
      entries.push({ reference, trace, payerKey, countryCode });
    }
    batches.push(buildBatch(plan, traced, batches.length + 1));
  }
  const offsetTraces: string[] = [];
  if (config.settlement.kind === 'balanced') {
    const offsets = splitTotal(drafts).map((amountMinor) => ({ amountMinor, trace: takeTrace() }));
    for (const { trace } of offsets) offsetTraces.push(trace);
    batches.push(buildOffset(plan, offsets, batches.length + 1));
  }
  const file = closeFile(buildHeader(plan), batches);
  const text = formatAchFile(file, config.lineEnd === 'crlf' ? '\r\n' : '\n');
  return { file, text, entries, offsetTraces };
}

function buildHeader({ config, created, modifier, referenceCode }: FilePlan): FileHeader {
  const { odfi, origin } = config;
  return {
    recordType: '1',
    priorityCode: '01',
    immediateDestination: (odfi.immediateDestination ?? odfi.routingNumber).padStart(10, ' '),
    immediateOrigin: origin.id.padStart(10, ' '),
    creationDate: formatRecordDate(created.day),
    creationTime: created.time.replace(':', ''),
    fileIdModifier: modifier,
    recordSize: '094',
    blockingFactor: '10',
    formatCode: '1',
    destinationName: odfi.name,
    originName: origin.name,
    referenceCode,
  };
}

function describeGroup(draft: Draft): string {
  const country = draft.entryClass === 'IAT' ? draft.international.country : '';
  return `${draft.entryClass}/${country}/${draft.entryDescription}`;
}

/** All entries of a batch share the fields of its header. */
function groupDrafts(drafts: readonly Draft[]): Draft[][] {
  return [...Map.groupBy(drafts, describeGroup).values()];
}

type Traced = { readonly draft: Draft; readonly trace: string };

function buildBatch(plan: FilePlan, traced: readonly Traced[], batchNumber: number): Batch {
  const [first] = traced;
  if (first === undefined) throw new Error('unreachable: a batch has entries');
  const { draft } = first;
  const shared = describeBatch(plan, { draft, batchNumber });
  if (draft.entryClass !== 'IAT') {
    const header = { ...shared, ...describeCompany(plan), entryClass: draft.entryClass };
    const entries = traced.map(buildEntry);
    return { kind: 'domestic', header, entries, control: closeBatch(header, entries) };
  }
  const header = {
    ...shared,
    iatIndicator: '',
    // Fixed to fixed: the same amount leaves and arrives, in the same currency.
    exchangeIndicator: 'FF',
    exchangeReferenceIndicator: '3',
    exchangeReference: '',
    destinationCountry: draft.international.country,
    entryClass: 'IAT',
    originatingCurrency: 'USD',
    destinationCurrency: draft.international.currency,
  };
  const entries = traced.map((entry) => buildIatEntry(entry, plan.config));
  return { kind: 'international', header, entries, control: closeBatch(header, entries) };
}

function describeBatch(
  { config, effectiveOn }: FilePlan,
  { draft, batchNumber }: { draft: Draft; batchNumber: number },
) {
  return {
    recordType: '5',
    serviceClass: '220',
    companyId: config.company.id,
    entryDescription: draft.entryDescription || config.company.entryDescription,
    effectiveDate: formatRecordDate(effectiveOn),
    settlementDate: '',
    originatorStatus: '1',
    odfi: config.odfi.routingNumber.slice(0, 8),
    batchNumber: String(batchNumber).padStart(7, '0'),
  };
}

function describeCompany({ config, effectiveOn }: FilePlan) {
  return {
    companyName: config.company.name,
    discretionaryData: config.company.discretionaryData,
    descriptiveDate: formatRecordDate(effectiveOn),
  };
}

/** The reference as a segment of ANSI X12, which the rules require in a payment addenda. */
function formatRemittance(reference: string): string {
  return `RMR*IV*${reference}\\`;
}

/** The reference in an addenda's text; undefined where it is not ours. */
export function readRemittance(information: string): string | undefined {
  return /^RMR\*IV\*([^\\*]+)\\$/.exec(information)?.[1];
}

function buildEntry({ draft, trace }: Traced): Entry<EntryDetail> {
  return {
    detail: {
      recordType: '6',
      transactionCode: draft.transactionCode,
      rdfi: draft.routingNumber.slice(0, 8),
      checkDigit: getCheckDigit(draft.routingNumber.slice(0, 8)),
      account: draft.account,
      amount: draft.amountMinor.toString().padStart(10, '0'),
      // A part of the reference; the whole of it is in the addenda.
      individualId: draft.reference.slice(-15),
      individualName: draft.name,
      discretionaryData: '',
      addendaIndicator: '1',
      trace,
    },
    addenda: [
      {
        typeCode: '05',
        values: {
          recordType: '7',
          typeCode: '05',
          information: formatRemittance(draft.reference),
          addendaSequence: '0001',
          entrySequence: trace.slice(8),
        },
      },
    ],
  };
}

function buildIatEntry({ draft, trace }: Traced, config: NachaConfig): Entry<IatEntryDetail> {
  if (draft.entryClass !== 'IAT') throw new Error('unreachable: an IAT batch has IAT entries');
  const { international } = draft;
  const addenda = buildIatAddenda(draft, international, config).map(({ typeCode, values }) => ({
    typeCode,
    values: { ...values, recordType: '7', typeCode, entrySequence: trace.slice(8) },
  }));
  return {
    detail: {
      recordType: '6',
      transactionCode: draft.transactionCode,
      rdfi: draft.routingNumber.slice(0, 8),
      checkDigit: getCheckDigit(draft.routingNumber.slice(0, 8)),
      addendaCount: String(addenda.length).padStart(4, '0'),
      reserved: '',
      amount: draft.amountMinor.toString().padStart(10, '0'),
      account: draft.account,
      reservedToo: '',
      gatewayScreening: international.gatewayScreening,
      secondaryScreening: international.secondaryScreening,
      addendaIndicator: '1',
      trace,
    },
    addenda,
  };
}

function buildIatAddenda(
  draft: Draft,
  international: International,
  { odfi }: NachaConfig,
): Addenda[] {
  const parts: Record<string, Record<string, string>> = {
    '10': {
      transactionType: international.transactionType,
      foreignAmount: draft.amountMinor.toString().padStart(18, '0'),
      foreignTrace: '',
      receiverName: draft.name,
      reserved: '',
    },
    '11': {
      originatorName: international.originatorName,
      originatorStreet: international.originatorStreet,
      reserved: '',
    },
    '12': {
      originatorCity: international.originatorCity,
      originatorCountry: international.originatorCountry,
      reserved: '',
    },
    '13': {
      bankName: odfi.name,
      bankIdQualifier: '01',
      bankId: odfi.routingNumber,
      bankCountry: 'US',
      reserved: '',
    },
    '14': {
      bankName: international.bankName,
      bankIdQualifier: international.bankIdQualifier,
      bankId: international.bankId,
      bankCountry: international.country,
      reserved: '',
    },
    '15': {
      receiverId: draft.reference.slice(-15),
      receiverStreet: international.receiverStreet,
      reserved: '',
    },
    '16': {
      receiverCity: international.receiverCity,
      receiverCountry: international.receiverCountry,
      reserved: '',
    },
    '17': { information: formatRemittance(draft.reference), addendaSequence: '0001' },
  };
  return Object.entries(parts).map(([typeCode, values]) => ({ typeCode, values }));
}

/** The debits of the operator's account that balance the credits, each at most one entry's maximum. */
function splitTotal(drafts: readonly Draft[]): bigint[] {
  let rest = drafts.reduce((sum, { amountMinor }) => sum + amountMinor, 0n);
  const parts: bigint[] = [];
  while (rest > 0n) {
    const part = rest < entryAmountMinorMax ? rest : entryAmountMinorMax;
    parts.push(part);
    rest -= part;
  }
  return parts;
}

type Offset = { readonly amountMinor: bigint; readonly trace: string };

function buildOffset(plan: FilePlan, offsets: readonly Offset[], batchNumber: number): Batch {
  const { settlement, company, odfi } = plan.config;
  if (settlement.kind !== 'balanced')
    throw new Error('unreachable: only balanced files have an offset');
  const header = {
    ...describeCompany(plan),
    recordType: '5',
    serviceClass: '225',
    companyId: company.id,
    entryClass: 'CCD',
    entryDescription: 'OFFSET',
    effectiveDate: formatRecordDate(plan.effectiveOn),
    settlementDate: '',
    originatorStatus: '1',
    odfi: odfi.routingNumber.slice(0, 8),
    batchNumber: String(batchNumber).padStart(7, '0'),
  };
  const entries = offsets.map(({ amountMinor, trace }) => ({
    detail: {
      recordType: '6',
      transactionCode: settlement.accountType === 'CHECKING' ? '27' : '37',
      rdfi: settlement.routingNumber.slice(0, 8),
      checkDigit: settlement.routingNumber.slice(8),
      account: settlement.accountNumber,
      amount: amountMinor.toString().padStart(10, '0'),
      individualId: 'OFFSET',
      individualName: company.name,
      discretionaryData: '',
      addendaIndicator: '0',
      trace,
    },
    addenda: [],
  }));
  return { kind: 'domestic', header, entries, control: closeBatch(header, entries) };
}
