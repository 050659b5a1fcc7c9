import { readFileSync } from 'node:fs';
import { Command as CommanderCommand, CommanderError } from 'commander';
import { z } from 'zod';
import { ConfigError } from '../config.ts';
import { writeJson } from '../core/json-text.ts';
import { type Command, formatFlag, RowPage, Screen } from './command.ts';
import { loadCommands } from './command-groups.ts';
import type { Host } from './context.ts';
import { getHelp } from './options.ts';

const nouns: Readonly<Record<string, string>> = {
  cell: 'describe this installation as one of several cells',
  ledger: 'prove the ledger, and export it',
  proof: 'verify proofs of payouts',
  rates: 'import and list exchange rates',
  operator: 'create, invite and revoke operators',
  policy: 'list and set which actions need two operators',
  approval: 'list and withdraw requests that wait for a second operator',
  audit: 'list the audit log',
  account: 'create, fund and change accounts of clients',
  credential: 'create, rotate and revoke credentials of accounts',
  key: 'rotate the master key',
  'environment-key': 'rotate the keys of the environment and the index key',
  user: 'erase recipients, and set legal holds',
  link: 'create and revoke links to pages for recipients',
  exception: 'list and close exceptions',
  payout: 'explain payouts and decide about them',
  receipt: 'verify receipts, and print their public key',
  recovery: 'show and release the recovery after a restore',
  report: 'report a month from the ledger',
  suspense: 'list and clear what payouts left in suspense',
  limit: 'list and set limits of accounts',
  rule: 'show, set and try approval rules',
  sending: 'stop, drain and resume all sending',
  freeze: 'freeze a client, a recipient, a corridor or a rail',
  rail: 'list and check rails, and print their messages',
  routing: 'replay past payouts with other fees, limits or rules',
  tariff: 'list fees, margins and limits of payers',
  secret: 'seal secret files',
  screening: 'import sanctions lists, and decide about hits',
  identity: 'list and decide identity verifications',
  reconciliation: 'match bank statements with settlements',
};

type Invocation = { readonly name: string; run(host: Host): Promise<unknown> };

/**
 * The command that the words name, with its options; undefined where they asked for help.
 *
 * @throws ConfigError with every fault of the options, before anything is opened.
 */
export async function readCommand(words: readonly string[]): Promise<Invocation | undefined> {
  let chosen: Invocation | undefined;
  const program = createProgram(await loadCommands(words[0]), (invocation) => {
    chosen = invocation;
  });
  try {
    program.parse(words, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return undefined;
    // Its help has been printed.
    if (error.code === 'commander.help') throw new ConfigError('no command given');
    throw new ConfigError(error.message.replace(/^error: /, ''), { cause: error });
  }
  return chosen;
}

function createProgram(
  commands: readonly Command[],
  choose: (invocation: Invocation) => void,
): CommanderCommand {
  const program = new CommanderCommand('outlay admin')
    .description('Commands of operators, on the database of this installation.')
    .exitOverride()
    // Faults are printed where all other errors are.
    .configureOutput({ outputError: () => undefined });
  const groups = new Map<string, CommanderCommand>();
  for (const command of commands) {
    const [noun = '', verb] = command.name.split(' ');
    let parent = program;
    if (verb !== undefined) {
      parent = groups.get(noun) ?? program.command(noun).description(nouns[noun] ?? '');
      groups.set(noun, parent);
    }
    const { argument } = command;
    const added = addOptions(parent.command(verb ?? noun), command);
    if (argument !== undefined) added.argument(`[${argument}]`);
    added.action(() => {
      const [word] = added.processedArgs as [string?];
      const { json: isJson = false, ...others } = added.opts<Record<string, unknown>>();
      const given = readFiles(command, others);
      const named = argument === undefined || word === undefined ? {} : { [argument]: word };
      const run = command.read({ ...given, ...named });
      choose({
        name: command.name,
        run: async (host) => choosePrinted(host, await run(host), isJson === true),
      });
    });
  }
  return program;
}

/** The text of files that options name as `@path`. @throws ConfigError. */
function readFiles(
  { options }: Command,
  given: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const takesFile = getHelp(options[name] ?? z.never()).takesFile === true;
      if (!takesFile || typeof value !== 'string' || !value.startsWith('@')) return [name, value];
      try {
        return [name, readFileSync(value.slice(1), 'utf8')];
      } catch (cause) {
        throw new ConfigError(`${formatFlag(name)} names a file that cannot be read`, { cause });
      }
    }),
  );
}

/** All options are optional to the parser: the command reports everything that is missing at once. */
function addOptions(target: CommanderCommand, { about, options }: Command): CommanderCommand {
  const usage: string[] = [];
  for (const [name, schema] of Object.entries(options)) {
    const { value, about: help } = getHelp(schema);
    const flags = value === undefined ? formatFlag(name) : `${formatFlag(name)} <${value}>`;
    if (!schema.safeParse(undefined).success) usage.push(flags);
    target.option(flags, help);
  }
  target.option('--json', 'print JSON, which most commands do anyway');
  return target.description(about).usage([...usage, '[options]'].join(' '));
}

function choosePrinted(host: Host, result: unknown, isJson: boolean): unknown {
  if (result instanceof RowPage) {
    if (result.next !== undefined) host.note(describeNext(result, result.next));
    return result.rows;
  }
  if (!(result instanceof Screen)) return result;
  return isJson ? result.value : result.writeText();
}

/** The cursor stands last, so that a script finds it. */
const describeNext = ({ rows, option }: RowPage, next: string): string =>
  `more rows follow these ${rows.length}; for the next page: ${formatFlag(option)} ${quote(next)}`;

/** A reference can hold any visible character. */
const quote = (text: string): string =>
  /^[\w.:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** The result as text: JSON, unless it is text already. */
export function formatResult(result: unknown): string {
  return `${typeof result === 'string' ? result : writeJson(result, 2)}\n`;
}
