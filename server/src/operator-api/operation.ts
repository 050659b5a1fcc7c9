import { z } from 'zod';
import { type Command, OptionFaults, type RowPage } from '../cli/command.ts';
import { commands } from '../cli/commands.ts';
import type { CommandContext, OperatorContext } from '../cli/context.ts';
import { readMidRates } from '../cli/context.ts';
import { getHelp, reason } from '../cli/options.ts';
import { ConfigError, RefusedCommand } from '../config.ts';
import type { Principal } from '../core/access.ts';
import { AppError, type Fault } from '../core/errors.ts';
import { writeJson } from '../core/json-text.ts';
import { type BaseServices, defineRoute, type Route, type RouteContext } from '../http/route.ts';
import { textField } from '../http/schema.ts';
import { type Act, act, type Circumstances, isWaiting } from '../operators/act.ts';
import { operatorRoles } from '../operators/roles.ts';

/**
 * Operations of operators: each is a command of the command line over HTTP. The same code checks role,
 * options and the second person, does it, and writes the audit log. Fields are the command's options in
 * snake_case.
 */

export type OperatorServices = BaseServices & {
  /** What commands work on. */
  readonly commandContext: CommandContext;
};

export type Operation = {
  /** Noun and verb of the command. */
  readonly command: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly path: `/operator/${string}`;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** What the command answers. */
  readonly result: z.ZodType;
  /** The command's answer as `result` describes it. */
  readonly shape?: (answer: never) => unknown;
  /** Options that are no field, with the value that the command gets; undefined: none. */
  readonly fixed?: Readonly<Record<string, string | true | undefined>>;
  /** Fields that are no text in the body: the value is written as text for the command. */
  readonly fields?: Readonly<Record<string, z.ZodType>>;
  readonly refusals?: readonly number[];
};

const optionName = (field: string): string =>
  field.replaceAll(/_([a-z])/g, (_whole, letter: string) => letter.toUpperCase());
const fieldName = (option: string): string =>
  option.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export function getCommand(name: string): Command & Required<Pick<Command, 'perform'>> {
  const command = commands.find((one) => one.name === name);
  if (command?.perform === undefined) throw new Error(`${name} is no command of operators`);
  return { ...command, perform: command.perform };
}

/** The answer of an operation that changes something. */
export const changeAnswer = (outcome: z.ZodType) =>
  z.object({
    result: z
      .enum(['done', 'waiting'])
      .describe('`waiting`: a second operator must want the same within seven days'),
    approval: z.string().describe('What the second operator approves; "" where nothing waits'),
    outcome: outcome.nullable().describe('What was done; null while it waits'),
  });

export function defineOperation(operation: Operation): Route<OperatorServices> {
  const command = getCommand(operation.command);
  const { method, path, fixed = {}, fields = {} } = operation;
  const inPath = [...path.matchAll(/\{([a-z_]+)\}/g)].map(([, name = '']) => name);
  const names = Object.keys(command.options)
    .filter((name) => name !== 'environment' && !(name in fixed))
    .map(fieldName);
  const rest = names.filter((name) => !inPath.includes(name));
  const isRead = command.permission === 'read' && method === 'GET';
  const describe = (name: string): z.ZodType => {
    const schema = command.options[optionName(name)] ?? z.never();
    return fields[name] ?? describeField(schema, { isQuery: method === 'GET' });
  };
  const params = z.object(Object.fromEntries(inPath.map((name) => [name, describe(name)])));
  const input = z.object(Object.fromEntries(rest.map((name) => [name, describe(name)])));
  return defineRoute<OperatorServices>({
    method,
    path,
    isVersioned: true,
    operationId: operation.operationId,
    tag: 'Operators',
    summary: operation.summary,
    description: describeOperation(operation, command),
    access: 'operator',
    ...(inPath.length > 0 && { params }),
    ...(method === 'GET' ? { query: input } : { body: input }),
    response: isRead ? operation.result : changeAnswer(operation.result),
    refusals: listRefusals(operation, command),
    handle: async (context, given) => {
      const answer = await perform(context, command, {
        given: {
          ...toOptions(command.options, {
            ...(given.params as object),
            ...readInput(given, method),
          }),
          ...fixed,
        },
        isBody: method !== 'GET',
      });
      const shape = operation.shape as ((answer: unknown) => unknown) | undefined;
      return isRead ? toPlain(shape?.(answer) ?? answer) : toChange(answer, shape);
    },
  });
}

/** A command that may need two people is refused where another request for it was approved just now. */
function listRefusals({ refusals = [] }: Operation, { asksSecond = false }: Command): number[] {
  return [...new Set([...refusals, ...(asksSecond ? [409] : [])])];
}

function readInput(given: { query: unknown; body: unknown }, method: string): object {
  const input = method === 'GET' ? given.query : given.body;
  return typeof input === 'object' && input !== null ? input : {};
}

function describeOperation({ description }: Operation, command: Command): string {
  const same = `As the command \`outlay admin ${command.name}\`; ${describePermission(command.permission)}.`;
  return description === undefined ? same : `${description}\n\n${same}`;
}

/** An option of the command line as a field: text that the command's own schema checks. */
function describeField(option: z.ZodType, { isQuery }: { isQuery: boolean }): z.ZodType {
  const { about, value } = getHelp(option);
  const isOptional = option.safeParse(undefined).success;
  const inner = unwrap(option);
  const field =
    inner instanceof z.ZodBoolean || isChoice(inner)
      ? isQuery
        ? z.enum(['true', 'false']).meta({ jsonSchema: { type: 'boolean' } })
        : z.boolean()
      : inner instanceof z.ZodEnum
        ? z.enum(inner.options as [string, ...string[]])
        : z
            .string()
            .max(2_000)
            .superRefine((text, context) => {
              const { error } = option.safeParse(text);
              if (error === undefined) return;
              const message = error.issues[0]?.message ?? 'is not valid';
              context.addIssue({ code: 'custom', message });
            });
  const help = value === undefined ? about : describeValue(about);
  return isOptional ? field.optional().describe(help) : field.describe(help);
}

const describePermission = (permission: string | undefined): string =>
  permission === 'own' ? 'every role may do it' : `needs the permission \`${permission}\``;

/** The help of the command line, as a sentence. */
function describeValue(about: string): string {
  return about.charAt(0).toUpperCase() + about.slice(1).replaceAll(/--([a-z-]+)/g, toField);
}

const toField = (_whole: string, flag: string): string => `\`${flag.replaceAll('-', '_')}\``;

function unwrap(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
    ? unwrap(schema.unwrap() as z.ZodType)
    : schema;
}

/** A choice of the command line, `true` or `false`, which is more than a switch. */
const isChoice = (option: z.ZodType): boolean => option.safeParse('false').data === false;

/** Fields as the command line would give them: texts, and true for a switch. */
function toOptions(options: Command['options'], input: object): Record<string, unknown> {
  const given: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(input)) {
    if (value === undefined) continue;
    const name = optionName(field);
    const isSwitch = unwrap(options[name] ?? z.never()) instanceof z.ZodBoolean;
    const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
    if (!isSwitch) given[name] = text;
    else if (text === 'true') given[name] = true;
  }
  return given;
}

type Asked = {
  given: Readonly<Record<string, unknown>>;
  isBody: boolean;
  /** The request that the operator approves with it. */
  approves?: string;
};

/** @throws AppError, with every fault of the fields. */
export async function perform(
  { env, principal, request }: RouteContext<OperatorServices>,
  command: ReturnType<typeof getCommand>,
  { given, isBody, approves }: Asked,
): Promise<unknown> {
  try {
    return await command.perform(openContext(env, principal), given, {
      ...describeCircumstances(env, request),
      ...(approves !== undefined && { approves }),
    });
  } catch (error) {
    throw toAppError(error, isBody);
  }
}

/** For what is no command word by word, such as one whose file is in the body: the same role and entries. */
export function performAct<Values>(
  { env, principal, request }: RouteContext<OperatorServices>,
  command: Omit<Act<OperatorContext, Values>, 'approval' | 'snapshot' | 'resultNames'>,
): Promise<unknown> {
  return act(openContext(env, principal), command, describeCircumstances(env, request));
}

function describeCircumstances(
  { commandContext }: OperatorServices,
  { remoteAddress, id }: RouteContext<OperatorServices>['request'],
): Circumstances {
  return {
    address: remoteAddress,
    requestId: id,
    readRates: () => readMidRates(commandContext),
  };
}

/** @throws Error for a caller who is no operator. */
export function openContext(env: OperatorServices, { operator }: Principal): OperatorContext {
  const role = operatorRoles.find((one) => one === operator?.role);
  if (operator === undefined || role === undefined) {
    throw new Error('unreachable: routes of operators admit operators only');
  }
  const { mayWrite: _, ...acting } = operator;
  return { ...env.commandContext, operator: { ...acting, role } };
}

function toAppError(error: unknown, isBody: boolean): unknown {
  if (error instanceof OptionFaults) {
    const faults = error.faults.map(({ name, text }): Fault => {
      const field = fieldName(name);
      const detail = `${field} ${text}`.trim().replaceAll(/--([a-z-]+)/g, toPlainField);
      const code = text === 'is missing' ? 'required' : 'invalid_value';
      if (name === '') return { pointer: '', code, detail };
      return isBody ? { pointer: `/${field}`, code, detail } : { parameter: field, code, detail };
    });
    const [first] = faults;
    return new AppError('invalid_request', first?.detail ?? error.message, { faults });
  }
  if (error instanceof RefusedCommand) return new AppError('illegal_move', error.message);
  if (error instanceof ConfigError) {
    const detail = error.message.replaceAll(/--([a-z-]+)/g, toPlainField);
    return new AppError('invalid_request', detail, { cause: error });
  }
  return error;
}

const toPlainField = (_whole: string, flag: string): string => flag.replaceAll('-', '_');

/** Times as ISO 8601 in UTC, and whole numbers beyond 53 bits as text. */
export function toPlain(value: unknown): unknown {
  return JSON.parse(writeJson(value));
}

function toChange(answer: unknown, shape: ((answer: unknown) => unknown) | undefined) {
  if (isWaiting(answer)) {
    const { approval = '' } = answer as { approval?: string };
    return { result: 'waiting', approval, outcome: null };
  }
  const shaped = shape?.(answer) ?? (typeof answer === 'object' ? answer : {});
  const outcome = toPlain(shaped);
  return { result: 'done', approval: '', outcome };
}

/** Why, of an operation that is no command word by word. */
export const reasonField = textField(1000)
  .min(1)
  .refine((given) => reason.safeParse(given).success, {
    error: 'must be visible characters, without spaces around them',
  })
  .describe('Why');

/** Short forms for what operations answer. */
export const text = (about: string) => z.string().describe(about);
export const optionalText = (about: string) => z.string().nullable().describe(about);
export const count = (about: string) => z.int().describe(about);
export const yes = (about: string) => z.boolean().describe(about);
export const list = (item: z.ZodType, about = 'The rows, newest first') =>
  z.object({ data: z.array(item).describe(about) });
export const pagedList = (item: z.ZodType, about?: string) =>
  list(item, about).extend({
    next: optionalText('The `cursor` of the next page; null on the last one'),
  });
/** An outcome that says no more than that it was done. */
export const nothing = z.object({});
export const toList = (rows: unknown) => ({ data: rows });
export const toPagedList = ({ rows, next }: RowPage) => ({ data: rows, next: next ?? null });
