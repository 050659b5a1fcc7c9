import { randomBytes } from 'node:crypto';
import { newId } from '../../core/ids.ts';
import { findUserKey, type KeyRing, openBytes, rowContext, sealBytes } from '../../core/sealing.ts';
import { computeOf, type IndexedTable, renewPortions } from '../../db/indexed-tables.ts';
import type { Session } from '../../db/postgres/pool.ts';
import { findBic } from '../bank-identifiers.ts';
import { findUserKeys } from '../evidence.sql.ts';
import { nameFields } from '../hit.ts';
import type { PayoutToScreen } from '../payout-screenings.ts';
import {
  type ClaimedOpinionRow,
  claimOpinions,
  type LastOpinionRow,
  listQuestions,
  putOffOpinion,
  readLastOpinions,
  readOpinions,
  replaceSubjects,
  storeOpinion,
  storeQuestion,
} from './opinions.sql.ts';
import {
  type OpinionAnswer,
  type OpinionRequest,
  opinionAnswer,
  type ScreeningService,
} from './service.ts';

/**
 * The second opinion of a screening service on payouts. The check before a payout is sent stores the
 * question; a worker asks the service outside of any transaction and stores the answer, both sealed
 * under the recipient's key. A question that is asked again has the same key and the same body.
 */

export type OpinionServices = { readonly session: Session; readonly keys: KeyRing };

/** What the service is asked about. */
export type PayoutToAsk = PayoutToScreen & { readonly isToWallet: boolean };

/** Attributes that may hold a BIC. */
const bankFields = ['BankRoutingNumber', 'SWIFT'] as const;

function describeRequest(payout: PayoutToAsk): OpinionRequest {
  const { person, attributes, destinationCountry, isToWallet } = payout;
  return {
    person: {
      first_name: person.firstName,
      middle_name: person.middleName,
      last_name: person.lastName,
      business_name: person.businessName,
      date_of_birth: person.dateOfBirth,
      country: person.countryCode,
    },
    names: nameFields.flatMap((field) => {
      const text = attributes[field] ?? '';
      return text === '' ? [] : [{ field, text }];
    }),
    bank_codes: bankFields.flatMap((field) => findBic(attributes[field] ?? '') ?? []),
    wallet: isToWallet ? (attributes['BankAccountNumber'] ?? '') : '',
    destination_country: destinationCountry,
  };
}

/**
 * The last opinion on each payout, in their order, of its present data. Whatever has not been asked
 * about them is asked now.
 */
export async function requestOpinions(
  { session, keys }: OpinionServices,
  service: Pick<ScreeningService, 'name'>,
  payouts: readonly PayoutToAsk[],
): Promise<LastOpinionRow['state'][]> {
  if (payouts.length === 0) return [];
  const last = new Map<string, LastOpinionRow>();
  for (const row of await readLastOpinions(session, payouts)) last.set(row.payout_id, row);
  const asked = payouts.map((payout) => {
    const text = JSON.stringify(describeRequest(payout));
    const subjectIndex = indexQuestion(keys, service.name, text);
    const known = last.get(payout.payoutId);
    return {
      payout,
      text,
      subjectIndex,
      known,
      isKnown: known?.subject_index.equals(subjectIndex),
    };
  });
  const open = asked.filter(({ isKnown }) => isKnown !== true);
  const dataKeys = await findUserKeys(
    session,
    open.map(({ payout }) => payout),
  );
  for (const { payout, text, subjectIndex, known } of open) {
    const { accountId, payoutId, userId } = payout;
    const owner = dataKeys.find((row) => row.account_id === accountId && row.id === userId);
    if (owner === undefined) continue;
    const id = newId();
    const body = Buffer.from(`${begin(id)}${text.slice(1)}`);
    const sealed = sealBytes(keys.unwrap(owner.data_key, payout), body, contextOf('request', id));
    const sequence = (known?.sequence ?? 0) + 1;
    const { name } = service;
    const question = { accountId, payoutId, userId, sequence, id, subjectIndex, sealed };
    await storeQuestion(session, { ...question, service: name });
  }
  return asked.map(({ known, isKnown }) =>
    isKnown === true && known !== undefined ? known.state : 'asked',
  );
}

/** `text`: what is asked, without the id of the question. */
function indexQuestion(
  keys: Pick<KeyRing, 'blindIndex'>,
  serviceName: string,
  text: string,
): Buffer {
  return keys.blindIndex('screening service', `${serviceName} ${text}`);
}

const begin = (id: string): string => `{"id":"${id}",`;

/** Questions are sealed as they were asked. Those about erased recipients get random bytes. */
export const indexedOpinions: IndexedTable = {
  table: 'screening_opinions',
  columns: ['screening_opinions.subject_index'],
  renew: ({ session, fresh }) =>
    renewPortions(session, listQuestions, async (rows) => {
      let ended = 0;
      const indexes = rows.map((row) => {
        const owner = { accountId: row.account_id, userId: row.user_id };
        const userKey = findUserKey(fresh, row.data_key, owner);
        if (userKey === undefined) {
          ended += 1;
          return randomBytes(32);
        }
        const body = computeOf([row.account_id, row.payout_id, row.sequence], () =>
          openBytes(userKey, row.request, contextOf('request', row.id)).toString(),
        );
        return indexQuestion(fresh, row.service, `{${body.slice(begin(row.id).length)}`);
      });
      await replaceSubjects(session, rows, indexes);
      return { renewed: rows.length - ended, ended };
    }),
};

function contextOf(part: 'request' | 'answer', id: string): string {
  return rowContext(`screening_opinions.${part}`, id);
}

export type OpinionWorker = OpinionServices & {
  readonly service: ScreeningService;
  readonly onError: (error: unknown) => void;
  /** The waits between the tries; after the last one it is not tried again. */
  readonly waitsMs?: readonly number[];
  /** Longer than a call. */
  readonly leaseMs?: number;
};

/** With the time of each call, about three minutes. */
const usualWaitsMs = [2_000, 8_000, 30_000, 90_000];
const usualLeaseMs = 30_000;
const countMax = 16;

/** Asks about the next payouts at the same time. Returns whether there may be more. */
export async function askService(worker: OpinionWorker, stopping: AbortSignal): Promise<boolean> {
  const rows = await claimOpinions(worker.session, countMax, worker.leaseMs ?? usualLeaseMs);
  await Promise.all(rows.map((row) => askOne(worker, row, stopping)));
  return rows.length === countMax;
}

async function askOne(
  worker: OpinionWorker,
  row: ClaimedOpinionRow,
  stopping: AbortSignal,
): Promise<void> {
  const { session, keys, service, onError, waitsMs = usualWaitsMs } = worker;
  try {
    // The recipient's data were erased.
    if (row.data_key.length === 0) return await endUnanswered(session, row);
    const owner = { accountId: row.account_id, userId: row.user_id };
    const userKey = keys.unwrap(row.data_key, owner);
    const { id } = row;
    const body = openBytes(userKey, row.request, contextOf('request', id)).toString();
    const answer = await service.ask({ id, body }, stopping);
    const text = Buffer.from(JSON.stringify(answer));
    const sealed = sealBytes(userKey, text, contextOf('answer', id));
    await storeOpinion(session, row, { state: answer.result, sealed });
  } catch (error) {
    onError(error);
    // The next process asks again when the lease ends.
    if (stopping.aborted) return;
    const waitMs = waitsMs[row.tries - 1];
    if (waitMs === undefined) await endUnanswered(session, row);
    else await putOffOpinion(session, row, waitMs);
  }
}

function endUnanswered(session: Session, row: ClaimedOpinionRow): Promise<void> {
  return storeOpinion(session, row, { state: 'unanswered', sealed: null });
}

export type ShownOpinion = {
  readonly service: string;
  readonly opinion: string;
  readonly tries: number;
  readonly askedAtMs: number;
  readonly answeredAtMs: number | undefined;
} & Partial<Pick<OpinionAnswer, 'reference' | 'matches'>>;

/** Newest first. What the service found ends with the erasure of the recipient. */
export async function listOpinions(
  { session, keys }: OpinionServices,
  payout: { readonly accountId: string; readonly payoutId: string },
): Promise<ShownOpinion[]> {
  const rows = await readOpinions(session, payout);
  return rows.map((row) => {
    const shown = {
      service: row.service,
      opinion: row.state,
      tries: row.tries,
      askedAtMs: row.asked_at.getTime(),
      answeredAtMs: row.answered_at?.getTime(),
    };
    if (row.answer === null || row.data_key.length === 0) return shown;
    const userKey = keys.unwrap(row.data_key, {
      accountId: payout.accountId,
      userId: row.user_id,
    });
    const text = openBytes(userKey, row.answer, contextOf('answer', row.id)).toString();
    const { reference, matches } = opinionAnswer.parse(JSON.parse(text));
    return { ...shown, reference, matches };
  });
}
