import { createHash } from 'node:crypto';
import type { Database } from '../../db/postgres/pool.ts';
import type { LogFields } from '../contract/contract.ts';
import type {
  PayerRequirements,
  RecipientRequirements,
  RequirementsKey,
  RequirementsMemory,
  StoredRequirements,
} from '../contract/requirements.ts';
import {
  insertWanted,
  listRequirements,
  listWanted,
  type RequirementsRow,
  type RequirementsWrite,
  readRevision,
  storeRequirements,
} from './requirements.sql.ts';
import { formsBytesMax, formsSchema, givenSchema } from './requirements-schema.ts';

/**
 * What counterparties ask for accounts of recipients. Each process has all of it in memory, as last
 * refreshed, so that no request of a client waits for a counterparty.
 */
export type Requirements = {
  memoryOf(rail: string): RequirementsMemory;
  /** As last refreshed; another object after each change of a version. */
  list(): RequirementsSnapshot;
  /** Reads what is stored if any process has stored something; otherwise one small statement. */
  refresh(): Promise<void>;
};

/** By the names of rails, then by `nameDestination`. */
export type RequirementsSnapshot = ReadonlyMap<string, ReadonlyMap<string, PayerRequirements>>;

export function nameDestination(payerKey: string, currency: string): string {
  return `${payerKey} ${currency}`;
}

export type RequirementsServices = {
  db: Pick<Database, 'system'>;
  realNowMs: () => number;
  log: (level: 'warn' | 'error', message: string, fields: LogFields) => void;
};

type Current = {
  readonly revision: string;
  readonly snapshot: RequirementsSnapshot;
  /** By rail and key: with the times of the last readings, which change without a new version. */
  readonly stored: ReadonlyMap<string, StoredRequirements>;
};

export function createRequirements({ db, realNowMs, log }: RequirementsServices): Requirements {
  let current: Current = { revision: '', snapshot: new Map(), stored: new Map() };
  /** When this process last said that they are wanted. */
  const asked = new Map<string, number>();
  const refresh = async (): Promise<void> => {
    const revision = await readRevision(db.system);
    // Unequal instead of greater: the revision of a restored database may be lower.
    if (revision === current.revision) return;
    current = describeRows(await listRequirements(db.system), { revision, before: current });
  };
  const memoryOf = (rail: string): RequirementsMemory => ({
    find: (key) => current.stored.get(nameStored(rail, key)),
    findAll: (payerKey, currency) =>
      current.snapshot.get(rail)?.get(nameDestination(payerKey, currency)),
    want: async (key) => {
      const name = nameStored(rail, key);
      const nowMs = realNowMs();
      if (nowMs - (asked.get(name) ?? Number.NEGATIVE_INFINITY) < askedMs) return false;
      if (asked.size >= askedMax) asked.clear();
      asked.set(name, nowMs);
      const { payerKey, currency } = key;
      try {
        await insertWanted(db.system, rail, { payerKey, currency, given: writeGiven(key) });
        return true;
      } catch (error) {
        asked.delete(name);
        const kind = error instanceof Error ? error.name : typeof error;
        log('warn', 'wanted account requirements were not stored', { rail, error: kind });
        return false;
      }
    },
    listWanted: async () => (await listWanted(db.system, rail)).map(describeKey),
    keep: async (read) => {
      if (read.length === 0) return;
      const rows = await storeRequirements(db.system, rail, read.map(describeWrite));
      for (const { payer_key: payer, currency, version, is_changed: isChanged } of rows) {
        if (!isChanged || version === 1) continue;
        const fields = { rail, payer, currency, version };
        log('warn', 'a counterparty asks for other details of recipients', fields);
      }
      await refresh();
    },
  });
  return { memoryOf, list: () => current.snapshot, refresh };
}

/** Keys in memory; more are stored again, which changes nothing. */
const askedMax = 10_000;
/** What is in use is wanted again this often, so that it does not fall out of the readings. */
const askedMs = 86_400_000;

function nameStored(rail: string, key: RequirementsKey): string {
  return `${rail} ${nameDestination(key.payerKey, key.currency)} ${writeGiven(key)}`;
}

function writeGiven({ given }: RequirementsKey): string {
  const pairs = Object.entries(given).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify(pairs);
}

/** @throws Error with the places, without values. */
function describeWrite(read: RecipientRequirements): RequirementsWrite {
  const forms = formsSchema.safeParse(read.forms);
  const given = givenSchema.safeParse(read.given);
  const fault = forms.error?.issues[0] ?? given.error?.issues[0];
  if (!forms.success || !given.success) {
    throw new Error(`account requirements have an unexpected form: ${fault?.path.join('.')}`);
  }
  const text = JSON.stringify(forms.data);
  if (text.length > formsBytesMax) throw new Error('account requirements are too long');
  return {
    payerKey: read.payerKey,
    currency: read.currency,
    given: writeGiven(read),
    digest: createHash('sha256').update(text).digest('hex'),
    forms: text,
  };
}

function describeKey(
  row: Pick<RequirementsRow, 'payer_key' | 'currency' | 'given'>,
): RequirementsKey {
  return { payerKey: row.payer_key, currency: row.currency, given: row.given };
}

/** Objects whose versions are the same stay the same, so that what is compiled from them stays too. */
function describeRows(
  rows: readonly RequirementsRow[],
  { revision, before }: { revision: string; before: Current },
): Current {
  const stored = new Map<string, StoredRequirements>();
  const variants = new Map<string, Map<string, StoredRequirements[]>>();
  for (const row of rows) {
    const { version, forms, read_at: readAt } = row;
    const one = { ...describeKey(row), forms, version, readAtMs: readAt.getTime() };
    stored.set(nameStored(row.rail, one), one);
    const ofRail = variants.get(row.rail) ?? new Map<string, StoredRequirements[]>();
    variants.set(row.rail, ofRail);
    const name = nameDestination(row.payer_key, row.currency);
    ofRail.set(name, [...(ofRail.get(name) ?? []), one]);
  }
  let isSame = variants.size === before.snapshot.size;
  const snapshot = new Map<string, ReadonlyMap<string, PayerRequirements>>();
  for (const [rail, ofRail] of variants) {
    const known = before.snapshot.get(rail);
    isSame &&= known?.size === ofRail.size;
    const payers = new Map<string, PayerRequirements>();
    for (const [name, all] of ofRail) {
      const earlier = known?.get(name);
      const isKept = earlier !== undefined && hasSameVersions(earlier.variants, all);
      isSame &&= isKept;
      const version = Math.max(...all.map((one) => one.version));
      payers.set(name, isKept ? earlier : { version, variants: all });
    }
    snapshot.set(rail, payers);
  }
  return { revision, stored, snapshot: isSame ? before.snapshot : snapshot };
}

function hasSameVersions(
  before: readonly StoredRequirements[],
  now: readonly StoredRequirements[],
): boolean {
  return (
    before.length === now.length && before.every(({ version }, at) => version === now[at]?.version)
  );
}
