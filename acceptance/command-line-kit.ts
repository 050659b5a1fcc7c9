import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { findOperatorWords } from '../cli/src/admin/admin.ts';
import { run } from '../cli/src/run.ts';
import { type Account, type Service, testSettings } from './service.ts';
import { nodeWords } from './service-process.ts';

/** Runs `outlay` in a folder of its own. */

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
  /** In this process, but for the commands of operators, which end the one that they run in. */
  run(words: readonly string[], options?: Input): Promise<Ran>;
  /** As a user would: in a process of its own. */
  spawn(words: readonly string[], options?: Input): Promise<Ran>;
  /** The same, whose signals and streams are the test's own. */
  start(words: readonly string[], stdio: StdioOptions, env?: Input['env']): ChildProcess;
  read(file: string): string;
};

type Input = {
  input?: string;
  env?: Record<string, string>;
  /** Its output is a terminal without anyone to answer questions; only for `run`. */
  isTerminal?: boolean;
};

/**
 * A shell whose profile is that of the account, by the variables of the environment. Until it is
 * disposed of, this process works in the shell's folder.
 */
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
  const folderBefore = process.cwd();
  process.chdir(folder);
  const complete = ({ input = '', env: changes = {}, isTerminal = false }: Input = {}) => ({
    input,
    isTerminal,
    env: { ...env, ...changes },
  });
  return {
    folder,
    read: (file) => readFileSync(join(folder, file), 'utf8'),
    run: (words, options) =>
      findOperatorWords(words) === undefined
        ? runHere(words, complete(options))
        : spawnCli(words, complete(options)),
    spawn: (words, options) => spawnCli(words, complete(options)),
    start: (words, stdio, changes) => startCli(words, { env: { ...env, ...changes }, stdio }),
    [Symbol.dispose]: () => {
      process.chdir(folderBefore);
      rmSync(folder, { recursive: true });
    },
  };
}

/** No pause of a command is for the sake of time. */
const pauseMsMax = 10;

async function runHere(
  words: readonly string[],
  { env, input, isTerminal }: Required<Input>,
): Promise<Ran> {
  const [out, error] = [collect(), collect()];
  for (const { stream } of [out, error]) Object.assign(stream, { isTTY: isTerminal });
  const exitCode = await run(words, {
    terminal: {
      // Of a stream of a process, a command uses what every stream has.
      out: out.stream as NodeJS.WriteStream,
      error: error.stream as NodeJS.WriteStream,
      input: Readable.from([input]) as NodeJS.ReadStream,
      environment: env,
    },
    nowMs: Date.now,
    sleep: (ms, signal) => pause(Math.min(ms, pauseMsMax), undefined, { signal }),
  });
  return describeRun({ exitCode: exitCode ?? null, out: out.text(), error: error.text() });
}

function collect(): { stream: Writable; text(): string } {
  let written = '';
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk: string | Buffer, _encoding, done) => {
      written += chunk.toString();
      done();
    },
  });
  return { stream, text: () => written };
}

function describeRun(ran: Pick<Ran, 'exitCode' | 'out' | 'error'>): Ran {
  const parse = (text: string): never => JSON.parse(text) as never;
  return {
    ...ran,
    json: () => parse(ran.out),
    lines: () => ran.out.trim().split('\n').map(parse),
  };
}

const runMsMax = 90_000;

function startCli(
  words: readonly string[],
  options: { env: Record<string, string>; stdio: StdioOptions },
): ChildProcess {
  const parameters = [...nodeWords, cliMain, ...words];
  return spawn(process.execPath, parameters, { ...options, timeout: runMsMax });
}

function spawnCli(words: readonly string[], { env, input }: Required<Input>): Promise<Ran> {
  const child = startCli(words, { env, stdio: 'pipe' });
  child.stdin?.end(input);
  let [out, error] = ['', ''];
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (error += text));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => resolve(describeRun({ exitCode, out, error })));
  });
}
