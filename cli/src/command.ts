import { type Client, createClient } from '../../sdk/src/index.ts';
import { createQuestions, type Questions } from './ask.ts';
import { UsageError } from './failure.ts';
import type { Output, Terminal } from './output.ts';
import { chooseProfile, type Profile } from './profiles.ts';

/** What a command is, and what it gets to work with. */

export type Time = {
  readonly nowMs: () => number;
  /** @throws AbortError when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
};

export type Context = Time & {
  readonly terminal: Terminal;
  readonly output: Output;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  readonly ask: Questions;
  /** @throws Failure where no profile is found. */
  profile(): Profile;
  /** The client of the chosen profile. */
  connect(): Client;
};

export type OptionSpec = {
  /** What stands for its value in the help; a switch has none. */
  readonly value?: string;
  readonly about: string;
  /** It may be given several times. */
  readonly isList?: true;
};

type ValueOf<Spec extends OptionSpec> = Spec extends { isList: true }
  ? readonly string[]
  : Spec extends { value: string }
    ? string | undefined
    : boolean;

type WordsOf<Words extends readonly string[]> = { readonly [Word in Words[number]]: string };

type Options = Readonly<Record<string, OptionSpec>>;
type NoOptions = { readonly [Name in never]: OptionSpec };

export type Values<Words extends readonly string[], Given extends Options> = WordsOf<Words> & {
  readonly [Name in keyof Given]: ValueOf<Given[Name]>;
};

type Definition<Words extends readonly string[], Given extends Options> = {
  /** One word, or a noun and a verb. */
  readonly name: string;
  readonly about: string;
  /** What stands after the name, in this order. */
  readonly words?: Words;
  readonly options?: Given;
  /** What follows `outlay` in a line that works. */
  readonly examples: readonly string[];
  /** The command that people need after it. */
  readonly next?: string;
  run(context: Context, values: Values<Words, Given>): Promise<void> | void;
};

export type Command = Omit<Definition<readonly string[], Options>, 'run'> & {
  run(context: Context, values: Readonly<Record<string, unknown>>): Promise<void> | void;
};

export function defineCommand<
  const Words extends readonly string[] = [],
  const Given extends Options = NoOptions,
>(definition: Definition<Words, Given>): Command {
  return definition;
}

export function createContext(
  terminal: Terminal,
  {
    output,
    profileName,
    ...rest
  }: { output: Output; profileName: string | undefined; signal: AbortSignal } & Time,
): Context {
  const profile = (): Profile => chooseProfile(terminal.environment, profileName);
  return {
    ...rest,
    terminal,
    output,
    ask: createQuestions({ terminal, output, nowMs: rest.nowMs }),
    profile,
    connect: () => connectTo(profile()),
  };
}

/** @throws UsageError for an address or a key that cannot be used. */
export function connectTo(address: Pick<Profile, 'baseUrl' | 'credential'>): Client {
  try {
    return createClient(address);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(`The profile is not usable: ${error.message}`);
  }
}
