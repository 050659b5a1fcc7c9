import {
  AuthenticationError,
  ConnectionError,
  OutlayError,
  PermissionError,
  ProblemError,
  RateLimitError,
  ServiceError,
} from '../../sdk/src/index.ts';

/** What a command ends with when it does not end well. docs/guides/command-line.md lists the codes. */

export const exitCodes = {
  done: 0,
  /** The service, or a check, said no. */
  refused: 1,
  usage: 2,
  /** No answer, or none that says what happened. */
  unknown: 3,
  /** The credential is missing, not valid, or lacks a scope. */
  credential: 4,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

type FailureOptions = {
  exitCode?: ExitCode;
  code?: string;
  next?: string | undefined;
  /** The payout that already has the reference. */
  payoutToken?: string;
  hasResult?: boolean;
};

/** Ends the command with one sentence, and what to do next. */
export class Failure extends Error {
  readonly exitCode: ExitCode;
  readonly code: string;
  readonly next: string | undefined;
  readonly payoutToken: string | undefined;
  /** The command has written its result, so that no second value may follow on stdout. */
  readonly hasResult: boolean;
  constructor(message: string, options: FailureOptions = {}) {
    const { exitCode = exitCodes.refused, code = 'refused', hasResult = false } = options;
    super(message);
    this.exitCode = exitCode;
    this.code = code;
    this.next = options.next;
    this.payoutToken = options.payoutToken;
    this.hasResult = hasResult;
  }
}

/** A command line that cannot be run as it is. */
export class UsageError extends Failure {
  constructor(message: string, next?: string) {
    super(message, { exitCode: exitCodes.usage, code: 'usage', next });
  }
}

export type FailureReport = {
  code: string;
  detail: string;
  exit_code: ExitCode;
  /** Every fault of a request that the service refused. */
  faults: readonly { field: string; code: string; detail: string }[];
  request_id?: string;
  /** The payout that already has the reference. */
  payout_token?: string;
  next?: string;
};

/** Of an error that a person can act on; undefined for a defect of this program. */
export function describeFailure(error: unknown): FailureReport | undefined {
  if (error instanceof Failure) {
    const { code, message, exitCode, next, payoutToken } = error;
    return {
      code,
      detail: message,
      exit_code: exitCode,
      faults: [],
      ...(payoutToken === undefined ? {} : { payout_token: payoutToken }),
      ...(next === undefined ? {} : { next }),
    };
  }
  if (error instanceof ProblemError) return describeProblem(error);
  if (error instanceof OutlayError) {
    const isLost = error instanceof ConnectionError;
    return {
      code: isLost ? 'not_reachable' : 'unexpected_answer',
      detail: error.message,
      exit_code: exitCodes.unknown,
      faults: [],
      next: isLost
        ? 'Is the address right, and does the service run? outlay profile list'
        : 'The answer is not from Outlay: check the address. outlay profile list',
    };
  }
  // Files and addresses that the person named.
  if (error instanceof Error && 'syscall' in error) {
    return { code: 'usage', detail: describeFile(error), exit_code: exitCodes.usage, faults: [] };
  }
  return undefined;
}

function describeFile(error: Error & { code?: unknown; path?: unknown }): string {
  const file = typeof error.path === 'string' ? error.path : '';
  if (error.code === 'ENOENT' && file !== '') return `There is no file ${file}`;
  if (error.code === 'EACCES' && file !== '') return `${file} must not be read or written by you`;
  return error.message;
}

function describeProblem(error: ProblemError): FailureReport {
  const isCredential = error instanceof AuthenticationError || error instanceof PermissionError;
  const isTemporary =
    error instanceof ServiceError || (error instanceof RateLimitError && error.retryable);
  const exitCode = isCredential
    ? exitCodes.credential
    : isTemporary
      ? exitCodes.unknown
      : exitCodes.refused;
  return {
    code: error.code,
    detail: error.detail,
    exit_code: exitCode,
    faults: error.faults.map(({ pointer, parameter, token, code, detail }) => ({
      field: pointer ?? parameter ?? token ?? '',
      code,
      detail,
    })),
    request_id: error.requestId,
    ...(isCredential ? { next: 'outlay login' } : {}),
    ...describePaid(error),
  };
}

/** The error for a reference that was paid before: a script must not take it for unpaid. */
function describePaid({ code, problem }: ProblemError): Partial<FailureReport> {
  const token: unknown = 'payout_token' in problem ? problem.payout_token : undefined;
  if (code !== 'duplicate_transfer' || typeof token !== 'string') return {};
  return { payout_token: token, next: `outlay payout show ${token}` };
}
