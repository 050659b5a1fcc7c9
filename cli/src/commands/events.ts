import {
  type ArgumentsOf,
  type Client,
  type Event,
  findLastSequence,
  tailEvents,
} from '../../../sdk/src/index.ts';
import { type Context, defineCommand } from '../command.ts';
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

type Types = NonNullable<ArgumentsOf<'listEvents'>['type']>;

/** The chosen events as they happen, until Ctrl-C. */
export async function* chooseEvents(
  { connect, signal }: Pick<Context, 'connect' | 'signal'>,
  { after, type, count }: Choice,
): AsyncGenerator<Event, void> {
  let left = count === undefined ? Number.POSITIVE_INFINITY : readCount(count, '--count');
  const given = after === undefined ? undefined : readCount(after, '--after');
  const client = connect();
  // The service checks what the command line cannot know.
  const types = type as Types;
  await checkTypes({ client, signal }, types);
  const start = given ?? (await findLastSequence(client, signal));
  if (left === 0) return;
  for await (const event of tailEvents(client, { after: start, type: types, signal })) {
    yield event;
    left -= 1;
    if (left <= 0) return;
  }
}

/** A mistyped type has no events, for which a reader would wait for ever: the service refuses it. */
async function checkTypes(
  { client, signal }: { client: Client; signal: AbortSignal },
  type: Types,
): Promise<void> {
  if (type.length > 0) await client.listEvents({ type, after: lastSequence }, { signal });
}

/** More events than any account has. */
const lastSequence = Number.MAX_SAFE_INTEGER;

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
