/**
 * Why a scheduled payout waits after its time has come, and why it was canceled without having run.
 * The database stores the sentences as status_reason.
 */

type ScheduleActor = 'client' | 'recipient' | 'operator' | 'payer';
export type ScheduleReasonCode = (typeof scheduleReasonCodes)[number];

export const scheduleReasonCodes = [
  'waiting_for_funds',
  'funds_did_not_arrive',
  'price_out_of_bounds',
  'account_frozen',
  'user_not_active',
  'attributes_missing',
  'identity_not_verified',
  'recipient_invalid',
  'amount_refused',
  'rates_unavailable',
  'not_served',
  'cancelled_by_client',
] as const;

type Sentence = { code: ScheduleReasonCode; text: string };
type Wait = { actor: ScheduleActor; waiting: Sentence; ended: Sentence };

const wait = (
  code: ScheduleReasonCode,
  actor: ScheduleActor,
  [waiting, ended]: readonly [waiting: string, ended: string],
): Wait => ({ actor, waiting: { code, text: waiting }, ended: { code, text: ended } });

/** The obstacles to a scheduled payout, most of it as of a commit. */
const waits = {
  insufficient_funds: {
    actor: 'client',
    waiting: { code: 'waiting_for_funds', text: 'the balance does not cover amount and fee yet' },
    ended: { code: 'funds_did_not_arrive', text: 'the funds did not arrive in time' },
  },
  price_out_of_bounds: wait('price_out_of_bounds', 'client', [
    'the price is outside of its bounds',
    'the price stayed outside of its bounds',
  ]),
  account_frozen: wait('account_frozen', 'operator', [
    'the operator has stopped commits of the account',
    'the operator had stopped commits of the account',
  ]),
  user_not_active: wait('user_not_active', 'operator', [
    'the user is not active',
    'the user was not active in time',
  ]),
  attributes_missing: wait('attributes_missing', 'client', [
    'required attributes of the destination are missing',
    'required attributes of the destination were missing',
  ]),
  identity_not_verified: wait('identity_not_verified', 'recipient', [
    "the user's identity is not verified",
    "the user's identity was not verified in time",
  ]),
  recipient_invalid: wait('recipient_invalid', 'client', [
    'the payer does not accept the recipient data',
    'the payer did not accept the recipient data',
  ]),
  amount_refused: wait('amount_refused', 'client', [
    'the amount is outside of the limits of the payer',
    'the amount stayed outside of the limits of the payer',
  ]),
  rates_unavailable: wait('rates_unavailable', 'operator', [
    'there is no recent exchange rate',
    'there was no recent exchange rate in time',
  ]),
  not_served: wait('not_served', 'payer', [
    'the destination is not offered',
    'the destination was not offered in time',
  ]),
} satisfies Record<string, Wait>;

export type ScheduleObstacle = keyof typeof waits;

/** `status_reason` of a payout that its client canceled. */
export const cancelledByClient = 'canceled by the client';

/** The sentences by obstacle, as `run_schedules` takes them. */
export const scheduleSentences = Object.fromEntries(
  Object.entries(waits).map(([obstacle, { waiting, ended }]) => [
    obstacle,
    { waiting: waiting.text, ended: ended.text },
  ]),
);

const byText = new Map<string, { code: ScheduleReasonCode; actor: ScheduleActor }>([
  [cancelledByClient, { code: 'cancelled_by_client', actor: 'client' }],
  ...Object.values(waits).flatMap(({ actor, waiting, ended }) =>
    [waiting, ended].map(({ code, text }) => [text, { code, actor }] as const),
  ),
]);

/** The code of a sentence, and who has to act; undefined for the sentence of another reason. */
export function findScheduleReason(
  statusReason: string,
): { code: ScheduleReasonCode; actor: ScheduleActor } | undefined {
  return byText.get(statusReason);
}
