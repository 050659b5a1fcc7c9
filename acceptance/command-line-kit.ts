import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Account, type Service, testSettings } from './service.ts';

/** Runs `outlay` as a user would: a process of its own, in a folder of its own. */

export const cliMain = join(import.meta.dirname, '../cli/src/main.ts');

export type Ran = {
  readonly exitCode: number | null;
  readonly out: string;
  readonly error: string;
  /** The one value, of a command with `--json`. @throws SyntaxError if it is not JSON. */
  json<Value = Record<string, unknown>>(): Value;
  /** JSON lines. */
  lines<Value = Record<string, unknown>>(): Value[];
};

export type Shell = Disposable & {
  readonly folder: string;
  run(
    words: readonly string[],
    options?: { input?: string; env?: Record<string, string> },
  ): Promise<Ran>;
  read(file: string): string;
};

/** A shell whose profile is that of the account, by the variables of the environment. */
export function openShell(
  { baseUrl }: Pick<Service, 'baseUrl'>,
  { credentials: { api_key } }: Pick<Account, 'credentials'>,
): Shell {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-shell-'));
  const env = {
    ...testSettings(folder),
    XDG_CONFIG_HOME: join(folder, 'config'),
    OUTLAY_URL: baseUrl,
    OUTLAY_KEY: api_key,
  };
  return {
    folder,
    read: (file) => readFileSync(join(folder, file), 'utf8'),
    run: (words, { input = '', env: changes = {} } = {}) =>
      runCli(words, { cwd: folder, env: { ...env, ...changes }, input }),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

type Process = { cwd: string; env: Record<string, string>; input: string };

const runMsMax = 90_000;

function runCli(words: readonly string[], { cwd, env, input }: Process): Promise<Ran> {
  const parameters = ['--disable-warning=ExperimentalWarning', cliMain, ...words];
  const child = spawn(process.execPath, parameters, { cwd, env, timeout: runMsMax });
  child.stdin.end(input);
  let [out, error] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (error += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => {
      const parse = (text: string): never => JSON.parse(text) as never;
      const lines = (): never[] => out.trim().split('\n').map(parse);
      resolve({ exitCode, out, error, json: () => parse(out), lines });
    });
  });
}
