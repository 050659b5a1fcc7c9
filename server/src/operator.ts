import { openContext } from './cli/context.ts';
import { formatResult, readCommand } from './cli/program.ts';
import { describeStart } from './cli/start-screen.ts';
import { type Config, ConfigError, type Role, readConfig } from './config.ts';
import { findUnknownSettings } from './config-names.ts';
import { EmbeddedDatabaseError } from './db/embedded/error.ts';
import { SchemaMismatch } from './db/migrate.ts';
import { isLostConnection } from './db/postgres/server-faults.ts';
import { listEnvironments } from './environment/databases.ts';

/** Commands of operators, the service itself among them, in this process. */

const printError = (line: string): void => void process.stderr.write(`${line}\n`);

/** Errors that an operator can fix are printed in one line; others are defects, with their stack. */
function fail(error: unknown): never {
  const isForOperator =
    error instanceof ConfigError ||
    error instanceof EmbeddedDatabaseError ||
    error instanceof SchemaMismatch ||
    isOperatorCode(error);
  printError(`outlay: ${describe(error, isForOperator)}`);
  process.exit(error instanceof ConfigError ? error.exitCode : 1);
}

function describe(error: unknown, isForOperator: boolean): string | undefined {
  if (!(error instanceof Error)) return String(error);
  if (isLostConnection(error)) {
    return `the database does not answer at the address of DATABASE_URL, or ended the connection: ${error.message}`;
  }
  return isForOperator ? error.message : error.stack;
}

/** Of the system and of PostgreSQL. */
const operatorCodes: ReadonlySet<unknown> = new Set([
  // The message names the file.
  'ENOSPC',
  'EDQUOT',
  'EROFS',
  'EMFILE',
  'ENFILE',
  'EADDRINUSE',
  'EACCES',
  'EADDRNOTAVAIL',
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
  // PostgreSQL: wrong password, not admitted, no such database, no free connection, starting up.
  '28P01',
  '28000',
  '3D000',
  '53300',
  '57P03',
]);

function isOperatorCode(error: unknown): boolean {
  return error instanceof Error && 'code' in error && operatorCodes.has(error.code);
}

/** A fault in a service that moves real money must not give away the whole machine. */
function refuseRootInLive(config: Config): void {
  if (process.getuid?.() !== 0 || !listEnvironments(config).includes('live')) return;
  throw new ConfigError(
    'live must not run as root: start it as a user of its own (docs/guides/deployment.md)',
  );
}

async function serve(role: Role, { recovers }: { recovers: boolean }): Promise<void> {
  const config = readConfig(process.env);
  refuseRootInLive(config);
  // A full disk under these streams, or the end of their reader, must not end the service.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  // Commands need none of it, and neither does the refusal.
  const { listSecretNames } = await import('./cli/doctor/source-checks.ts');
  for (const line of findUnknownSettings(process.env, listSecretNames(config))) {
    printError(`outlay: ${line}`);
  }
  const { createApp } = await import('./app.ts');
  const app = await createApp(config, { role, recovers, realNowMs: Date.now, report: printError });
  // npm repeats the signal that the terminal sends to the whole group: the second one does nothing.
  let stopping: Promise<void> | undefined;
  const stop = (): void => {
    stopping ??= app.close().then(() => process.exit(0), fail);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  void app.outdated.then((error) => {
    stopping ??= app.close().then(() => fail(error), fail);
  });
  void app.failed.then((error) => (stopping === undefined ? fail(error) : undefined));
  try {
    const started = await app.listen();
    process.stdout.write(describeStart(config, { role, ...started }));
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** Runs the command that the words name. One that cannot be run ends the process with its exit code. */
export async function runOperator(words: readonly string[]): Promise<void> {
  const output = await runCommand(words, process.env).catch(fail);
  // The reader of the output may close it early, as `head` does.
  process.stdout.once('error', (broken: NodeJS.ErrnoException) => {
    if (broken.code !== 'EPIPE') throw broken;
    process.exit();
  });
  process.stdout.write(output);
}

/** Returns what the command prints at its end. */
export async function runCommand(
  words: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const command = await readCommand(words);
  const result = await command?.run({
    variables,
    realNowMs: Date.now,
    openContext: (name, options) =>
      openContext(readConfig(variables), { name, realNowMs: Date.now, ...options }),
    note: (line) => printError(`outlay: ${line}`),
    serve,
  });
  return result === undefined ? '' : formatResult(result);
}
