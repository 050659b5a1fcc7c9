import {
  type AnswerOf,
  type CallOptions,
  type Client,
  ConflictError,
  InvalidRequestError,
  NotFoundError,
  OutlayError,
  type PayoutAddress,
} from '../../../sdk/src/index.ts';
import type { Context } from '../command.ts';
import { describeFailure, exitCodes, Failure } from '../failure.ts';
import { formatMoney } from '../values.ts';
import { describeMissing } from './obstacles.ts';

/** A commit, of which a lost answer is never taken for a refusal. */

export type Committed = AnswerOf<'commitPayout'>;

type CommitOrder = PayoutAddress & { idempotencyKey?: string | undefined };

/** Rounds of the client's own retries, all with one key. */
const roundsMax = 3;
const roundPauseMs = 2_000;

/** @throws Failure `outcome_unknown` where no answer arrives at all. */
export function commitPayout(
  context: Pick<Context, 'output' | 'signal' | 'sleep'>,
  client: Client,
  { idempotencyKey, ...address }: CommitOrder,
): Promise<Committed> {
  const { payout_token: token } = address;
  return repeatSafely(context, {
    key: idempotencyKey,
    send: (options) => client.commitPayout({ ...address }, options),
    show: `outlay payout show ${token}`,
    repeat: (withKey) => `outlay payout commit ${token}${withKey}`,
  });
}

type Commit<Answer> = {
  key: string | undefined;
  send(options: CallOptions): Promise<Answer>;
  /** The command that shows its outcome. */
  show: string;
  /** The command that sends it again; `withKey` is the option with its key, or nothing. */
  repeat(withKey: string): string;
};

/**
 * Sends a commit, and repeats it with the same key while no answer comes.
 *
 * @throws Failure `outcome_unknown` where none comes at all.
 */
export async function repeatSafely<Answer>(
  { output, signal, sleep }: Pick<Context, 'output' | 'signal' | 'sleep'>,
  commit: Commit<Answer>,
): Promise<Answer> {
  let { key } = commit;
  for (let round = 1; ; round += 1) {
    try {
      return await commit.send({ signal, idempotencyKey: key });
    } catch (error) {
      if (isOutcomeUnknown(error, round)) key = error.idempotencyKey;
      else if (!signal.aborted) throw error;
      if (signal.aborted || round === roundsMax) {
        throw unknownOutcome(commit, { key, last: error as Error });
      }
      output.note('No answer to the commit. Repeating it with the same key: it pays once at most.');
      await sleep(roundPauseMs, signal).catch(() => undefined);
    }
  }
}

/** After the first round only a refusal of the commit itself says that no earlier request took effect. */
function isOutcomeUnknown(error: unknown, round: number): error is OutlayError {
  if (!(error instanceof OutlayError)) return false;
  const isDecided = [InvalidRequestError, NotFoundError, ConflictError].some(
    (kind) => error instanceof kind,
  );
  return error.outcomeUnknown || (round > 1 && !isDecided);
}

function unknownOutcome(
  { show, repeat }: Pick<Commit<unknown>, 'show' | 'repeat'>,
  { key, last }: { key: string | undefined; last: Error },
): Failure {
  const again = repeat(key === undefined ? '' : ` --idempotency-key ${key}`);
  return new Failure(`outcome unknown: the commit was sent and may have paid. ${last.message}`, {
    exitCode: exitCodes.unknown,
    code: 'outcome_unknown',
    next: `ask with: ${show}; or repeat it, which pays once at most: ${again}`,
  });
}

/**
 * Does what comes after a commit. Its failure must not look like that of the commit: a caller who repeats
 * the order would pay again. `known`: the result as far as it is known.
 *
 * @throws Failure `not_followed`.
 */
export async function followCommitted<Result>(
  { output, signal }: Pick<Context, 'output' | 'signal'>,
  { known, next, follow }: { known: object; next: string; follow(): Promise<Result> },
): Promise<Result> {
  try {
    return await follow();
  } catch (error) {
    if (output.isJson) output.result(known, () => '');
    const reason = describeFailure(error)?.detail ?? String(error);
    const { unknown, interrupted } = exitCodes;
    throw new Failure(
      signal.aborted
        ? 'Committed, and no longer followed.'
        : `Committed, but what followed is not known: ${reason}`,
      {
        exitCode: signal.aborted ? interrupted : unknown,
        code: 'not_followed',
        next,
        hasResult: true,
      },
    );
  }
}

/** Undefined for success. */
export function findRefusal(committed: Committed): Failure | undefined {
  const { payout_token, status, errors, code = status, missing = [], shortfall } = committed;
  if (status === 'success') return undefined;
  const lacking =
    shortfall === undefined
      ? []
      : [`  lacking: ${formatMoney(shortfall.amount, shortfall.currency_code)}`];
  return new Failure(
    [`not paid: ${errors || status}`, ...describeMissing(missing), ...lacking].join('\n'),
    {
      code,
      hasResult: true,
      next: describeNext({ payout_token, status, code, missing }),
    },
  );
}

type Refused = Pick<Committed, 'payout_token' | 'status'> & {
  code: string;
  missing: NonNullable<Committed['missing']>;
};

function describeNext({ payout_token, status, code, missing }: Refused): string {
  if (status === 'ex_rate_expired') return 'the quote has expired: outlay pay';
  if (code === 'payout_ended') return `outlay payout show ${payout_token}`;
  // A dry run has no payout, and stores nothing.
  if (payout_token === '') return 'correct this, then repeat the command';
  // A verification has a link instead.
  const details = missing.filter(({ link, type }) => link === '' && type !== '');
  if (details.length > 0) {
    const options = details.map(({ type }) => `--detail ${type}=…`).join(' ');
    return `repeat outlay pay with ${options}`;
  }
  return `correct this, then outlay payout commit ${payout_token}`;
}

export function describeCommit({ payout_token, status, pickup_code }: Committed): string {
  if (status !== 'success') return `Not committed: ${payout_token}`;
  return `Committed: ${payout_token}${pickup_code === '' ? '' : `, pickup code ${pickup_code}`}`;
}
