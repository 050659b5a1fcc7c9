import { createApp, type Role } from './app.ts';
import { runCommand } from './cli/commands.ts';
import { listSecretNames } from './cli/doctor/source-checks.ts';
import { describeStart } from './cli/start-screen.ts';
import { ConfigError, findUnknownSettings, readConfig } from './config.ts';
import { EmbeddedDatabaseError } from './db/embedded/error.ts';

/** argv to what shall run; signals; nothing else. */

const given = process.argv.slice(2);
/** `--recover` may stand alone: `npm start -- --recover`. */
const recoverFlag = '--recover';
const [command = 'all', ...rest] = given[0] === recoverFlag ? ['all', ...given] : given;

/** What a person can mend is told in one line; anything else is a defect and shows its stack. */
function fail(error: unknown): never {
  const isTellable =
    error instanceof ConfigError || error instanceof EmbeddedDatabaseError || isListenError(error);
  const text = error instanceof Error ? (isTellable ? error.message : error.stack) : String(error);
  process.stderr.write(`outlay: ${text}\n`);
  process.exit(error instanceof ConfigError ? error.exitCode : 1);
}

function isListenError(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return [
    'EADDRINUSE',
    'EACCES',
    'EADDRNOTAVAIL',
    'ECONNREFUSED',
    'ENOTFOUND',
    '28P01',
    '3D000',
  ].includes(String(code));
}

async function serve(role: Role): Promise<void> {
  const config = readConfig(process.env);
  const others = listSecretNames(config);
  for (const line of findUnknownSettings(process.env, others)) {
    process.stderr.write(`outlay: ${line}\n`);
  }
  const app = await createApp(config, {
    role,
    recovers: rest.includes(recoverFlag),
    realNowMs: Date.now,
    report: (line) => process.stderr.write(`${line}\n`),
  });
  // npm passes on the signal that the terminal sends to the whole group too: one stop is enough.
  let stopping: Promise<void> | undefined;
  const stop = (): void => {
    stopping ??= app.close().then(() => process.exit(0), fail);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  void app.failed.then((error) => (stopping === undefined ? fail(error) : undefined));
  try {
    const started = await app.listen();
    process.stdout.write(describeStart(config, { role, ...started }));
  } catch (error) {
    await app.close();
    throw error;
  }
}

const roles: readonly string[] = ['all', 'serve', 'work'];
await (roles.includes(command)
  ? serve(command as Role)
  : runCommand(command, rest, Date.now)
).catch(fail);
