import type { EnvironmentName } from '../core/access.ts';
import { getCountry } from '../core/country.ts';
import { getCurrency } from '../core/currency.ts';
import { formatToken } from '../core/ids.ts';
import { openPickupCode } from '../core/pickup-code.ts';
import { findUserKey, type KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import type { LinkedPayout } from '../payouts/receipt-link.ts';
import { formatRecipientName } from '../receipts/recipient-name.ts';
import { cleanText } from '../receipts/texts.ts';
import { openPerson, type Person } from '../users/users.ts';
import { chooseDelayMs } from '../webhooks/retry-times.ts';
import { type Channel, type Courier, type Notice, type Outcome, sendMsMax } from './channel.ts';
import { formatMoment, formatMoney, openCulture } from './culture.ts';
import { chooseType } from './notice-types.ts';
import {
  type ChannelName,
  type ClaimRow,
  claimNotices,
  finishNotice,
  type NoticeState,
  releaseNotice,
} from './notices.sql.ts';
import type { Templates } from './templates.ts';

/**
 * Sends the notices of the outbox, each channel by itself, so that one does not wait for the other.
 * Processes share them by leases; the message is composed when it is sent, from the sealed data of the
 * recipient. Nothing that fails here reaches the payout.
 */

export type NotifierOptions = {
  readonly db: Database;
  readonly keys: KeyRing;
  readonly environment: EnvironmentName;
  readonly channel: Channel;
  readonly templates: Templates;
  /** The address of a receipt for someone without a credential. */
  readonly linkReceipt: (payout: LinkedPayout, since: Date) => string;
  readonly steadyMs: () => number;
  readonly random?: () => number;
  /** `result`: a final state, or `retried`. */
  readonly onNotice: (channel: ChannelName, result: string) => void;
  /** A server is down or refuses the settings; the reason names no person. */
  readonly onDown: (channel: ChannelName, reason: string) => void;
  readonly onError: (error: unknown) => void;
  /** How long a notice that is being sent may take when the process stops; then it is cut. */
  readonly graceMs?: number;
};

export type Notifier = {
  readonly channel: ChannelName;
  /** Sends what is due. Returns whether there may be more. */
  sendDue(stopping: AbortSignal): Promise<boolean>;
};

const claimMax = 40;
const couriersMax = 4;
/** Longer than one notice may take. */
const leaseMs = sendMsMax + 30_000;
const graceMsDefault = 2_000;
const pauseMsMax = 60_000;

export function createNotifier(options: NotifierOptions): Notifier {
  const { channel, db, steadyMs } = options;
  const pause = createPause(steadyMs);
  return {
    channel: channel.name,
    sendDue: async (stopping) => {
      if (!pause.isOver() || stopping.aborted) return false;
      const beganMs = steadyMs();
      const queue = await claimNotices(db.system, {
        channel: channel.name,
        count: claimMax,
        leaseMs,
      });
      const { length } = queue;
      using cut = cutAfterGrace(stopping, options.graceMs ?? graceMsDefault);
      const round = { queue, pause, stopping, cut: cut.signal, beganMs };
      const ended = await Promise.allSettled(
        Array.from({ length: Math.min(couriersMax, length) }, () => deliver(options, round)),
      );
      for (const end of ended) if (end.status === 'rejected') throw end.reason;
      return length === claimMax;
    },
  };
}

type Pause = { isOver(): boolean; begin(): void; end(): void };

/** Of a channel whose server is down: longer after each failure, so that not every notice tries it. */
function createPause(steadyMs: () => number): Pause {
  let failures = 0;
  let untilMs = 0;
  return {
    isOver: () => steadyMs() >= untilMs,
    begin: () => {
      failures += 1;
      untilMs = steadyMs() + Math.min(pauseMsMax, 1_000 * 2 ** failures);
    },
    end: () => {
      failures = 0;
      untilMs = 0;
    },
  };
}

/** Aborted some time after the process began to stop. */
function cutAfterGrace(
  stopping: AbortSignal,
  graceMs: number,
): Disposable & { signal: AbortSignal } {
  const cut = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    timer = setTimeout(() => cut.abort(), graceMs);
  };
  stopping.addEventListener('abort', begin);
  return {
    signal: cut.signal,
    [Symbol.dispose]: () => {
      stopping.removeEventListener('abort', begin);
      clearTimeout(timer);
    },
  };
}

type Round = {
  readonly queue: ClaimRow[];
  readonly pause: Pause;
  readonly stopping: AbortSignal;
  readonly cut: AbortSignal;
  readonly beganMs: number;
};

/** One of several couriers that share the notices of a round. */
async function deliver(options: NotifierOptions, round: Round): Promise<void> {
  const { channel, db, steadyMs } = options;
  const { queue, pause, stopping, cut, beganMs } = round;
  const courier = channel.open();
  try {
    for (let claim = queue.shift(); claim !== undefined; claim = queue.shift()) {
      const isInTime = steadyMs() - beganMs + sendMsMax < leaseMs;
      if (isInTime && !stopping.aborted && pause.isOver()) {
        await tryOne(options, { claim, courier, pause, cut });
      } else await releaseNotice(db.system, claim);
    }
  } catch (error) {
    // What cannot be recorded must not be sent: the others are left to their leases.
    queue.length = 0;
    throw error;
  } finally {
    courier.close();
  }
}

type Try = { claim: ClaimRow; courier: Courier; pause: Pause; cut: AbortSignal };

/** A failure of ours leaves the notice to a later try. */
async function tryOne(
  options: NotifierOptions,
  { claim, courier, pause, cut }: Try,
): Promise<void> {
  const { channel, tries } = claim;
  let outcome: Outcome;
  try {
    const notice = openNotice(options, claim);
    outcome = 'id' in notice ? await courier.send(notice, cut) : notice;
  } catch (error) {
    options.onError(error);
    const reason = 'the notice could not be composed';
    outcome = { kind: 'delayed', reason, isChannelDown: false, retryAfterMs: 0 };
  }
  if (outcome.kind === 'delayed' && outcome.isChannelDown) {
    pause.begin();
    options.onDown(channel, outcome.reason);
  }
  if (outcome.kind === 'sent') pause.end();
  const random = (options.random ?? Math.random)();
  const state = await finishNotice(options.db.system, claim, {
    state: stateOf[outcome.kind],
    reason: outcome.kind === 'sent' ? '' : outcome.reason,
    delayMs:
      outcome.kind === 'delayed'
        ? chooseDelayMs({ failures: tries, retryAfterMs: outcome.retryAfterMs, random })
        : 0,
  });
  if (state !== undefined) options.onNotice(channel, state === 'waiting' ? 'retried' : state);
}

const stateOf = {
  sent: 'sent',
  skipped: 'skipped',
  refused: 'failed',
  delayed: 'waiting',
} as const satisfies Record<Outcome['kind'], NoticeState>;

function openNotice(options: NotifierOptions, claim: ClaimRow): Notice | Outcome {
  const { keys, templates, environment } = options;
  const type = chooseType(claim);
  if (type === undefined) return { kind: 'skipped', reason: 'another notice says it' };
  const owner = { accountId: claim.account_id, userId: claim.user_id };
  const userKey = findUserKey(keys, claim.data_key, owner);
  if (userKey === undefined) {
    return { kind: 'skipped', reason: 'the data of the recipient was erased' };
  }
  const person = openPerson(userKey, { ...owner, sealed: claim.sealed });
  const { language, template } = templates.choose(person.language, type);
  const culture = openCulture({
    language,
    country: getCountry(claim.country).alpha2,
    timeZone: person.timezone,
  });
  const values = describeValues(options, { claim, person, culture });
  return {
    id: claim.id,
    recipientName: values.recipient,
    email: person.email,
    mobileNumber: person.mobile_number,
    composition: { template, values, culture, environment },
    brand: { color: claim.brand_color, logo: claim.brand_logo },
  };
}

function describeValues(
  { linkReceipt, keys }: NotifierOptions,
  options: { claim: ClaimRow; person: Person; culture: ReturnType<typeof openCulture> },
) {
  const { claim, person, culture } = options;
  const { account_id: accountId, user_id: userId, payout_id: payoutId, created_at: since } = claim;
  const named = { country: claim.country, language: person.language };
  return {
    recipient: cleanText(person.business_name || formatRecipientName(person, named)),
    sender: cleanText(claim.sender_name),
    amount: formatMoney(claim.destination_amount, getCurrency(claim.destination_currency), culture),
    payer: cleanText(claim.payer_name),
    time: formatMoment(since, culture),
    arrival: formatMoment(claim.estimated_availability, culture),
    pickup_code: openPickupCode(keys, {
      accountId,
      userId,
      payoutId,
      stored: claim.pickup_code,
      dataKey: claim.data_key,
    }),
    reference: formatToken('payout', payoutId),
    receipt_link: linkReceipt({ accountId, userId, payoutId }, since),
  };
}
