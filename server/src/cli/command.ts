import { z } from 'zod';
import { ConfigError, RefusedCommand } from '../config.ts';
import { AppError } from '../core/errors.ts';
import { type Act, type Acting, act, type Circumstances } from '../operators/act.ts';
import type { Permission } from '../operators/roles.ts';
import { actByKey, type CommandAct } from './act.ts';
import type { Host, OperatorContext } from './context.ts';
import { environmentName, reason } from './options.ts';

/** A command: its options, each with a schema that reads it, and what it does with their values. */

export type Options = Readonly<Record<string, z.ZodType>>;
/** By name in camelCase, as options are everywhere but on the command line. */
type Given = Readonly<Record<string, unknown>>;
type ValuesOf<Shape extends Options> = z.output<z.ZodObject<Shape>>;

export type Command = {
  /** Noun and verb, or one word. */
  readonly name: string;
  readonly about: string;
  readonly options: Options;
  /** Of a command on an environment: what the role must allow. */
  readonly permission?: Permission;
  /** The option that may be given as a word, without its flag. */
  readonly argument?: string;
  /** Acts as a role that can change nothing. */
  readonly isReading?: boolean;
  /** It may need two people. */
  readonly asksSecond?: boolean;
  /** @throws ConfigError that names every fault of the options, before anything is opened. */
  read(given: Given): (host: Host) => Promise<unknown>;
  /** Undefined where it is not a command of an operator on an environment. */
  readonly perform?: Perform;
};

/**
 * Does the same over HTTP. `given` as on the command line.
 *
 * @throws AppError, OptionFaults.
 */
export type Perform = (
  context: OperatorContext,
  given: Given,
  circumstances: Circumstances,
) => Promise<unknown>;

export type OptionFault = { readonly name: string; readonly text: string };

/** Faults of options, as a caller that is not the command line tells them. */
export class OptionFaults extends Error {
  readonly faults: readonly OptionFault[];
  constructor(faults: readonly OptionFault[]) {
    super(faults.map(({ text }) => text).join('; '));
    this.faults = faults;
  }
}

/** A result for a person, or for a file: it is printed as text, and as JSON with `--json`. */
export class Screen {
  readonly value: object;
  readonly writeText: () => string;
  constructor(value: object, writeText: () => string) {
    this.value = value;
    this.writeText = writeText;
  }
}

/** Rows of a list of which more may follow: the rows are printed, and a person is told how to go on. */
export class RowPage {
  readonly rows: readonly object[];
  /** The cursor of the next page; undefined on the last one. */
  readonly next: string | undefined;
  /** That takes the cursor. */
  readonly option: string;
  constructor(rows: readonly object[], next: string | undefined, option = 'cursor') {
    this.rows = rows;
    this.next = next;
    this.option = option;
  }
}

/** What can be printed as JSON with more than one word; a promise is no such object. */
type Result = object & { readonly then?: never };

const unwrap = (result: unknown): unknown => (result instanceof Screen ? result.value : result);

type Definition<Shape extends Options, Target> = {
  name: string;
  about: string;
  options: Shape;
  argument?: keyof Shape & string;
  /** Returns the fault of options that depend on each other, of one of them where it has a name. */
  check?: (values: ValuesOf<Shape>) => string | OptionFault | undefined;
  /** The result is printed as JSON, that of a screen as text. A service that was started has none. */
  run(target: Target, values: ValuesOf<Shape>): Result | Promise<Result | undefined>;
};

type OperatorCommand<Shape extends Options> = Omit<Definition<Shape, OperatorContext>, 'run'> &
  Pick<
    Act<OperatorContext, ValuesOf<Shape>>,
    'permission' | 'approval' | 'snapshot' | 'resultNames'
  > &
  Pick<CommandAct<ValuesOf<Shape>>, 'bootstrap'> & {
    run(
      context: OperatorContext,
      values: ValuesOf<Shape>,
      acting: Acting,
    ): Result | Promise<Result>;
    /** Of a permission to read: it counts payouts, asks rails, which may store answers, or closes periods. */
    isStoring?: true;
    /** Waits for every other process to end, and keeps others from starting. */
    replacesIndexKey?: true;
  };

/** A command of an operator on one environment, which `--environment` selects. */
export function defineCommand<Shape extends Options>(definition: OperatorCommand<Shape>): Command {
  const { permission, options, isStoring = false, replacesIndexKey = false } = definition;
  const isReading = permission === 'read' && !isStoring;
  const selection = {
    environment: environmentName.optional(),
    // Whatever changes something may say why.
    ...(permission !== 'read' && !('reason' in options) && { reason: reason.optional() }),
  };
  const readSelection = createReader({ options: selection });
  const readValues = createReader(definition);
  return {
    ...definition,
    isReading,
    asksSecond: definition.approval !== undefined,
    options: { ...options, ...selection },
    read: (given) => {
      const faults: OptionFault[] = [];
      const selected = readSelection(given, faults);
      const values = readValues(given, faults);
      if (selected === undefined || values === undefined) throw describeFaults(faults);
      return async (host) => {
        const opening = { isReading, holdsIndexKey: !replacesIndexKey };
        await using context = await host.openContext(selected.environment, opening);
        const { environment: _environment, ...parameters } = given;
        const asked = { ...definition, values, given: parameters, reason: readReason(given) };
        return await run(() => actByKey(host, context, asked));
      };
    },
    perform: async (context, given, circumstances) => {
      const faults: OptionFault[] = [];
      const values = readValues(given, faults);
      // A reason is read with it.
      const selected = readSelection(given, faults);
      if (values === undefined || selected === undefined) throw new OptionFaults(faults);
      const asked = { ...definition, values, given, reason: readReason(given) };
      return unwrap(await act(context, asked, circumstances));
    },
  };
}

/** A command that opens by itself what it needs. */
export function defineHostCommand<Shape extends Options>(
  definition: Definition<Shape, Host>,
): Command {
  const readValues = createReader(definition);
  return {
    ...definition,
    read: (given) => {
      const faults: OptionFault[] = [];
      const values = readValues(given, faults);
      if (values === undefined) throw describeFaults(faults);
      return (host) => run(() => definition.run(host, values));
    },
  };
}

const readReason = (given: Given): string =>
  typeof given['reason'] === 'string' ? given['reason'] : '';

function describeFaults(faults: readonly OptionFault[]): ConfigError {
  const texts = faults.map(({ name, text }) =>
    name === '' ? text : `${formatFlag(name)} ${text}`,
  );
  return new ConfigError(texts.join('; '));
}

/** Refusals of the service are printed like a wrong option: in one line. */
async function run(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const isRefused = error.code === 'role_not_permitted';
    throw new (isRefused ? RefusedCommand : ConfigError)(error.message, { cause: error });
  }
}

/** Returns the values, or undefined and adds the faults. */
function createReader<Shape extends Options>({
  options,
  check,
}: Pick<Definition<Shape, never>, 'options' | 'check'>) {
  const schema = z.object(options);
  return (given: Given, faults: OptionFault[]): ValuesOf<Shape> | undefined => {
    // An empty text is a shell variable that was not set.
    const empty = Object.keys(options).filter((name) => given[name] === '');
    faults.push(...empty.map((name) => ({ name, text: 'is empty' })));
    const { success, data, error } = schema.safeParse(given);
    if (success) {
      const fault = check?.(data);
      if (typeof fault === 'string') faults.push({ name: '', text: fault });
      else if (fault !== undefined) faults.push(fault);
      return empty.length > 0 || fault !== undefined ? undefined : data;
    }
    const messages = new Map(error.issues.map(({ path, message }) => [String(path[0]), message]));
    for (const [name, message] of messages) {
      if (given[name] === undefined) faults.push({ name, text: 'is missing' });
      else if (given[name] !== '') faults.push({ name, text: message });
    }
    return undefined;
  };
}

/** `acceptJumps` is `--accept-jumps`. */
export function formatFlag(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
