import { createColors } from 'picocolors';
import { quoteWord } from './values.ts';

/** What a command says: results on stdout, all that only a person reads on stderr. */

/** A stream of the process; one that is no terminal has no `isTTY`. */
type ProcessStream<Stream> = Omit<Stream, 'isTTY'> & { readonly isTTY?: boolean };

export type Terminal = {
  readonly out: ProcessStream<NodeJS.WriteStream>;
  readonly error: ProcessStream<NodeJS.WriteStream>;
  readonly input: ProcessStream<NodeJS.ReadStream>;
  readonly environment: Readonly<Record<string, string | undefined>>;
};

export type Output = {
  readonly isJson: boolean;
  /** Whether questions can be asked. */
  readonly isInteractive: boolean;
  readonly colors: ReturnType<typeof createColors>;
  /** The one result of a command. Amounts are texts, so that no reader rounds them. */
  result(value: unknown, describe: () => string): void;
  /** One of many results: a line of JSON, or of text. */
  line(value: unknown, describe: () => string): void;
  /** For a person. */
  note(text: string): void;
  /** What to do next; left out where no person reads. */
  next(command: string): void;
  /** Commands in a text, with the `--profile` of this one: another account does not have its payouts. */
  withProfile(text: string): string;
};

export function createOutput(
  { out, error, input, environment }: Terminal,
  isJson: boolean,
  profileName?: string,
): Output {
  // Without a value picocolors decides by itself, for colors wherever `CI` is set.
  const isTerminal = out.isTTY === true && error.isTTY === true;
  const isPlain = Boolean(environment['NO_COLOR']) || environment['TERM'] === 'dumb';
  const colors = createColors(isTerminal && !isPlain);
  const isInteractive = isTerminal && input.isTTY === true && !isJson;
  const note = (text: string): void => void error.write(`${text}\n`);
  const write = (text: string): void => void out.write(`${text}\n`);
  const withProfile = (text: string): string =>
    profileName === undefined
      ? text
      : text.replaceAll(accountCommand, `outlay --profile ${quoteWord(profileName)} `);
  return {
    isJson,
    isInteractive,
    colors,
    withProfile,
    result: (value, describe) => write(isJson ? JSON.stringify(value, null, 2) : describe()),
    line: (value, describe) => write(isJson ? JSON.stringify(value) : describe()),
    note,
    next: (command) => {
      if (isInteractive) note(colors.dim(`Next: ${withProfile(command)}`));
    },
  };
}

/** The beginning of a command that works on an account. */
const accountCommand =
  /\boutlay (?!--|admin\b|completion\b|login\b|logout\b|profile\b|\w+ verify\b)/g;
