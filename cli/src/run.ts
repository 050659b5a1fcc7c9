import { CommanderError } from 'commander';
import { findOperatorWords, runOperator } from './admin/admin.ts';
import { createContext, type Time } from './command.ts';
import { nouns } from './commands/index.ts';
import { suggestWords } from './completion.ts';
import { describeFailure, type ExitCode, exitCodes, Failure, UsageError } from './failure.ts';
import { createOutput, type Output, type Terminal } from './output.ts';
import { createProgram, type Invocation, readInvocation } from './program.ts';
import { printable } from './table.ts';

/** Runs the command that the words name, and returns the exit code. */
export async function run(
  words: readonly string[],
  { terminal, ...time }: { terminal: Terminal } & Time,
): Promise<ExitCode | undefined> {
  if (words[0] === 'complete' && words[1] === '--') {
    for (const word of suggestWords(createProgram(), words.slice(2)))
      terminal.out.write(`${word}\n`);
    return exitCodes.done;
  }
  // Before the arguments are parsed, only the raw words say what is requested.
  let output = createOutput(terminal, words.includes('--json'));
  const { signal, release } = catchInterruption();
  try {
    // Operators' commands are read by their own program, and set the exit code themselves.
    const operatorWords = findOperatorWords(words);
    if (operatorWords !== undefined) {
      // None of them reads the signal. The service has its own handler, and Ctrl-C ends the others.
      release();
      await runOperator(operatorWords);
      return undefined;
    }
    const invocation = readWords(words, terminal);
    if (invocation === undefined) return exitCodes.done;
    const { command, values, isJson, profileName } = invocation;
    output = createOutput(terminal, isJson, profileName);
    await command.run(createContext(terminal, { output, profileName, signal, ...time }), values);
    return exitCodes.done;
  } catch (error) {
    // What a command says about its interruption goes before the mere fact.
    if (signal.aborted && !(error instanceof Failure)) return exitCodes.interrupted;
    return report(error, output);
  } finally {
    release();
  }
}

/** npm and npx pass on the Ctrl-C that the terminal has already sent to this process too. */
const repeatedMs = 1_000;

/** Ctrl-C aborts the signal. Pressed again after a moment, it ends the process at once. */
function catchInterruption(): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const { signal } = controller;
  const end = (): void => void process.off('SIGINT', interrupt);
  const interrupt = (): void => {
    controller.abort();
    setTimeout(end, repeatedMs).unref();
  };
  process.on('SIGINT', interrupt);
  return {
    signal,
    release: () => {
      if (!signal.aborted) end();
    },
  };
}

function readWords(
  words: readonly string[],
  { out, error: err }: Terminal,
): Invocation | undefined {
  try {
    const given = words.length === 0 ? ['--help'] : words;
    return readInvocation(given, {
      out: (text) => void out.write(text),
      error: (text) => void err.write(text),
    });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return undefined;
    const message = error.message.replace(/^error: /, '');
    throw new UsageError(
      error.code === 'commander.help' ? 'no command given' : message,
      findHelp(words, error.code),
    );
  }
}

/** The help that says what is wrong with the words. */
function findHelp([noun = '']: readonly string[], code: string): string {
  if (Object.hasOwn(nouns, noun)) return `outlay ${noun} --help`;
  return code === 'commander.unknownCommand'
    ? 'outlay --help, or outlay admin --help for the commands of operators'
    : 'outlay --help';
}

/** @throws the error itself if it is a defect. */
function report(error: unknown, { isJson, line, note, colors, withProfile }: Output): ExitCode {
  const described = describeFailure(error);
  if (described === undefined) throw error;
  const { next } = described;
  const failure = next === undefined ? described : { ...described, next: withProfile(next) };
  const hasResult = error instanceof Failure && error.hasResult;
  if (isJson && !hasResult) line({ error: failure }, () => '');
  note(`${colors.red('outlay:')} ${printable(failure.detail)}`);
  // The detail of a single fault is the problem's own.
  const faults = failure.faults.filter(({ detail }) => detail !== failure.detail);
  for (const { field, detail } of faults) {
    note(printable(field === '' ? `  ${detail}` : `  ${field}: ${detail}`));
  }
  if (failure.next !== undefined) note(`Next: ${failure.next}`);
  return failure.exit_code;
}
