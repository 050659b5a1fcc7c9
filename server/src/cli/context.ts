import { pino } from 'pino';
import { type Config, ConfigError, type Role } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';
import { listEnvironments, openDatabases } from '../environment/databases.ts';
import { type Foundation, openFoundation } from '../environment/foundation.ts';
import type { Payments } from '../environment/payments.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { createRates } from '../fx/refresher.ts';
import type { Operator } from '../operators/operators.ts';

/** What the process offers to a command. */
export type Host = {
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly realNowMs: () => number;
  openContext(name: EnvironmentName | undefined, options?: OpenOptions): Promise<CommandContext>;
  /** Tells a person something beside the result. */
  note(line: string): void;
  /** Runs the service until it is stopped. */
  serve(role: Role, options: { recovers: boolean }): Promise<void>;
};

export type OpenOptions = {
  /** For a command that changes nothing: as a role that cannot. */
  readonly isReading?: boolean;
  /** For the command that replaces the index key. */
  readonly holdsIndexKey?: boolean;
};

/** What the process of the service has open; a command opens it by itself. */
export type OpenParts = {
  readonly payments: Payments;
  readonly rates: ReturnType<typeof createRates> extends Promise<infer Rates> ? Rates : never;
};

/** An environment as commands open it: database, keys and clock. */
export type CommandContext = Foundation & {
  readonly open?: OpenParts;
  /** Who acts, where that is known already; else the key of the process says it. */
  readonly operator?: Operator;
};
/** An environment, and the operator who acts on it. */
export type OperatorContext = CommandContext & { readonly operator: Operator };

/** Uses the embedded database of a running service, where there is one. */
export async function openContext(
  config: Config,
  options: OpenOptions & { name: EnvironmentName | undefined; realNowMs: () => number },
): Promise<CommandContext> {
  const { name = config.OUTLAY_DEFAULT_ENVIRONMENT, realNowMs, isReading = false } = options;
  const { holdsIndexKey = true } = options;
  if (!listEnvironments(config).includes(name)) {
    throw new ConfigError(`the environment ${name} is not configured`);
  }
  await using parts = new AsyncDisposableStack();
  const databases = parts.use(await openDatabases(config, { names: [name], isGuest: true }));
  const [[, url] = [name, '']] = databases.urls;
  const base = await openFoundation({
    config,
    name,
    url,
    task: isReading ? 'read' : 'all',
    isCommand: true,
    holdsIndexKey,
    log: pino({ level: 'silent' }),
    steadyMs: () => performance.now(),
    realNowMs,
    fetch,
  });
  parts.use(base);
  const opened = parts.move();
  return { ...base, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** The rails, and what decides about payouts. A rail with faults is left out and reported. */
export async function openRails(context: CommandContext) {
  const { open } = context;
  if (open !== undefined) {
    const stay = async (): Promise<void> => undefined;
    return { ...open.payments, rates: open.rates.rates, [Symbol.asyncDispose]: stay };
  }
  // Loading all rails takes longer than most commands.
  const { openPayments } = await import('../environment/payments.ts');
  const rates = await getRates(context);
  const ignore = (): void => undefined;
  const payments = await openPayments(context, {
    rates,
    onError: ignore,
    onRailAnswer: ignore,
    wakeRail: ignore,
    wakeNotifications: ignore,
    toleratesFaults: true,
  });
  return { ...payments, rates: rates.rates };
}

/** The exchange rates; those of the service where the command runs in it. */
export async function getRates(context: CommandContext): Promise<OpenParts['rates']> {
  if (context.open !== undefined) return context.open.rates;
  const { openRates } = await import('../environment/imports.ts');
  return openRates(context);
}

export const readMidRates = async (context: CommandContext): Promise<MidRates> =>
  (await getRates(context)).rates();
