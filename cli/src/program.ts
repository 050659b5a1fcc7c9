import { Command as CommanderCommand, Option } from 'commander';
import { shared } from './admin/admin.ts';
import type { Command } from './command.ts';
import { commands, nouns } from './commands/index.ts';

/** The words of the command line, read with commander. */

export type Invocation = {
  readonly command: Command;
  readonly values: Readonly<Record<string, unknown>>;
  readonly isJson: boolean;
  readonly profileName: string | undefined;
};

type Written = { out(text: string): void; error(text: string): void };

const silent: Written = { out: () => undefined, error: () => undefined };

/** @throws CommanderError for a line that names no command, and after help was written. */
export function readInvocation(words: readonly string[], written: Written): Invocation | undefined {
  let chosen: Invocation | undefined;
  const program = createProgram(written, (invocation) => {
    chosen = invocation;
  });
  program.parse(words, { from: 'user' });
  return chosen;
}

/** `choose` hears which command the words name. */
export function createProgram(
  { out, error }: Written = silent,
  choose: (invocation: Invocation) => void = () => undefined,
): CommanderCommand {
  const program = new CommanderCommand('outlay')
    .description('Pay people in many countries with Outlay, and follow each payout.')
    .option('--json', 'write JSON on stdout and nothing else there')
    .option('--profile <name>', 'the address and credential to use (outlay profile list)')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: out, writeErr: error, outputError: () => undefined })
    .addHelpText('after', help);
  const groups = new Map<string, CommanderCommand>();
  const place = (name: string): { parent: CommanderCommand; verb: string } => {
    const [noun = '', verb] = name.split(' ');
    if (verb === undefined) return { parent: program, verb: noun };
    const parent = groups.get(noun) ?? program.command(noun).description(nouns[noun] ?? '');
    groups.set(noun, parent);
    return { parent, verb };
  };
  for (const command of commands) addCommand({ ...place(command.name), command, choose });
  // Those that src/admin reads; here they are for the help and the completion.
  for (const { name, about } of [...shared, admin]) {
    const { parent, verb } = place(name);
    parent.command(verb).description(about);
  }
  return program;
}

const help = `
Begin with:
  outlay balances                the balances of the account
  outlay pay                     make a payout; asks for each missing detail
  outlay payout list             payouts and their outcomes
  outlay <command> --help        options, examples and the next step

Exit codes: 0 done, 1 refused, 2 usage, 3 not reachable or outcome unknown, 4 credential.
`;

const admin = { name: 'admin', about: 'commands of operators, on the database of the service' };

type Addition = {
  parent: CommanderCommand;
  command: Command;
  verb: string;
  choose: (invocation: Invocation) => void;
};

function addCommand({ parent, command, verb, choose }: Addition): void {
  const { about, words = [], options = {}, examples, next } = command;
  const added = parent.command(verb).description(about);
  for (const word of words) added.argument(`<${word}>`);
  for (const [name, { value, about: optionHelp, isList }] of Object.entries(options)) {
    const flag = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    const repeated = isList === true ? `${optionHelp}; can be repeated` : optionHelp;
    const option = new Option(value === undefined ? flag : `${flag} <${value}>`, repeated);
    if (isList === true) {
      option.argParser((given, before: string[] | undefined) => [...(before ?? []), given]);
    }
    added.addOption(option);
  }
  const lines = examples.map((example) => `  outlay ${example}`);
  const following = next === undefined ? '' : `\nThen:\n  outlay ${next}\n`;
  added.addHelpText('after', `\nExamples:\n${lines.join('\n')}\n${following}`);
  added.action(() => {
    const given = added.processedArgs as unknown[];
    const named = words.map((word, index): [string, unknown] => [word, given[index]]);
    const { json = false, profile, ...values } = added.optsWithGlobals<Record<string, unknown>>();
    const lists = Object.entries(options).filter(([, { isList }]) => isList === true);
    const empty = Object.fromEntries(lists.map(([name]) => [name, []]));
    choose({
      command,
      values: { ...empty, ...values, ...Object.fromEntries(named) },
      isJson: json === true,
      profileName: profile as string | undefined,
    });
  });
}
