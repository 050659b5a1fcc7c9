import {
  type ArgumentsOf,
  type Client,
  type Event,
  findLastSequence,
  tailEvents,
} from '../../../sdk/src/index.ts';
import { type Context, defineCommand } from '../command.ts';
import { UsageError } from '../failure.ts';
import { printable } from '../table.ts';
import { formatTime, readCount } from '../values.ts';

/** Options that choose events; the same where they are forwarded. */
export const eventOptions = {
  after: { value: 'sequence', about: 'begin after this event (0: the oldest); else with new ones' },
  type: { value: 'type', about: 'only this type, or payout.* for all of payouts', isList: true },
  count: { value: 'count', about: 'end after this many events' },
} as const;

type Choice = {
  readonly after: string | undefined;
  readonly type: readonly string[];
  readonly count: string | undefined;
};

/** The chosen events as they happen, until Ctrl-C. */
export async function* chooseEvents(
  { connect, signal }: Pick<Context, 'connect' | 'signal'>,
  { after, type: filter, count }: Choice,
): AsyncGenerator<Event, void> {
  let left = count === undefined ? Number.POSITIVE_INFINITY : readCount(count, '--count');
  const given = after === undefined ? undefined : readCount(after, '--after');
  const client = connect();
  await checkTypes({ client, signal }, filter);
  const start = given ?? (await findLastSequence(client, signal));
  if (left === 0) return;
  for await (const event of tailEvents(client, { after: start, signal })) {
    if (!matches(event.type, filter)) continue;
    yield event;
    left -= 1;
    if (left <= 0) return;
  }
}

type Family = Event['type'] extends infer Type
  ? Type extends `${infer Name}.${string}`
    ? Name
    : never
  : never;

const families: Readonly<Record<Family, true>> = {
  account: true,
  attributes: true,
  balance: true,
  batch: true,
  credential: true,
  payout: true,
  proposal: true,
  user: true,
  verification: true,
  webhook: true,
};

/** A mistyped type has no events, for which a reader would wait for ever. */
async function checkTypes(
  { client, signal }: { client: Client; signal: AbortSignal },
  filter: readonly string[],
): Promise<void> {
  for (const type of filter) {
    if (!type.endsWith('.*')) {
      // The service refuses a type that it does not have.
      await client.listEvents({ type, after: lastSequence } as ArgumentsOf<'listEvents'>, {
        signal,
      });
    } else if (!Object.hasOwn(families, type.slice(0, -'.*'.length))) {
      const known = Object.keys(families).join('.*, ');
      const named = type.slice(0, -'.*'.length);
      throw new UsageError(`There is no family of types ${named}: ${known}.*`);
    }
  }
}

/** More events than any account has. */
const lastSequence = Number.MAX_SAFE_INTEGER;

function matches(type: string, filter: readonly string[]): boolean {
  if (filter.length === 0 || filter.includes(type)) return true;
  return filter.includes(`${type.slice(0, type.indexOf('.'))}.*`);
}

export function describeEvent({ sequence, created_on, type, object, data }: Event): string {
  const status = 'status_reason' in data && data.status_reason ? `  ${data.status_reason}` : '';
  return printable(`${sequence}  ${formatTime(created_on)}  ${type}  ${object}${status}`);
}

export const eventCommands = [
  defineCommand({
    name: 'events tail',
    about: 'show events as they happen, until Ctrl-C; --json: one line an event',
    options: eventOptions,
    examples: [
      'events tail',
      "events tail --after 0 --type 'payout.*'",
      'events tail --after 412 --json',
    ],
    next: 'webhooks forward http://localhost:3000/webhooks',
    run: async (context, values) => {
      const { output } = context;
      if (values.after === undefined) output.next('do something in another terminal');
      for await (const event of chooseEvents(context, values)) {
        output.line(event, () => describeEvent(event));
      }
    },
  }),
];
