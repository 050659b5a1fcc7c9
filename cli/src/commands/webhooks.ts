import { createHmac, randomBytes } from 'node:crypto';
import { type ArgumentsOf, type Event, NotFoundError, writeJson } from '../../../sdk/src/index.ts';
import { type Context, defineCommand } from '../command.ts';
import { exitCodes, Failure, UsageError } from '../failure.ts';
import { formatTable } from '../table.ts';
import { formatCode } from '../values.ts';
import { chooseEvents, describeEvent, eventOptions } from './events.ts';

const listenOptions = {
  ...eventOptions,
  secret: { value: 'whsec_…', about: 'sign with this secret; else with a new one, printed once' },
} as const;

export const webhookCommands = [
  defineCommand({
    name: 'webhooks list',
    about: 'list webhooks, with address and state of delivery',
    examples: ['webhooks list'],
    next: 'webhooks test <webhook>',
    run: async ({ connect, output, signal }) => {
      const webhooks = await connect().listWebhooks({}, { signal });
      output.result(webhooks, () =>
        formatTable(output, webhooks, {
          columns: [
            { title: 'status', read: ({ status }) => formatCode(status) },
            { title: 'waiting', isRight: true, read: ({ backlog }) => String(backlog) },
            { title: 'events', read: ({ event_types }) => event_types.join(' ') || 'all' },
            { title: 'url', read: ({ url }) => url },
            { title: 'token', read: ({ webhook_token }) => webhook_token },
          ],
          empty: 'No webhook.',
        }),
      );
    },
  }),
  defineCommand({
    name: 'webhooks create',
    about: 'send events to an address from now on; its secret is shown only once',
    words: ['url'],
    options: {
      type: {
        value: 'type',
        about: 'only this type, or payout.* for all of payouts',
        isList: true,
      },
      description: { value: 'text', about: 'for you' },
      signature: { value: 'kind', about: 'hmac-sha256 (default) or ed25519' },
    },
    examples: ["webhooks create https://shop.example/outlay-events --type 'payout.*'"],
    next: 'webhooks test <webhook>',
    run: async ({ connect, output, signal }, { url, type, description, signature }) => {
      const body = {
        url,
        event_types: type,
        description,
        signature,
      } as ArgumentsOf<'createWebhook'>['body'];
      const created = await connect().createWebhook({ body }, { signal });
      output.result(created, () =>
        [
          `Created ${created.webhook_token}`,
          created.public_key === ''
            ? `Secret (shown once): ${created.secret}`
            : `Public key: ${created.public_key}`,
        ].join('\n'),
      );
      output.next(`outlay webhooks test ${created.webhook_token}`);
    },
  }),
  defineCommand({
    name: 'webhooks test',
    about: 'send a test to a webhook, and show the answer of its endpoint',
    words: ['webhook'],
    examples: ['webhooks test webhook_0198…'],
    next: 'webhooks list',
    run: testWebhook,
  }),
  defineCommand({
    name: 'webhooks listen',
    about: 'show events as webhooks would carry them: signed headers and body',
    options: listenOptions,
    examples: ["webhooks listen --type 'payout.*'"],
    next: 'webhooks forward http://localhost:3000/webhooks',
    run: async (context, values) => {
      await listen(context, values, (message) => {
        const { headers, body } = message;
        const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
        context.output.line(message, () => [...lines, body, ''].join('\n'));
      });
    },
  }),
  defineCommand({
    name: 'webhooks forward',
    about: 'send events to a program on this machine as webhooks, signed, until Ctrl-C',
    words: ['url'],
    options: listenOptions,
    examples: [
      'webhooks forward http://localhost:3000/webhooks',
      'webhooks forward http://localhost:3000/webhooks --after 0 --secret whsec_…',
    ],
    next: 'pay (in another terminal)',
    run: async (context, { url, ...values }) => {
      if (!/^https?:$/.test(readUrl(url).protocol))
        throw new UsageError(`${url} must be http or https`);
      const { output, signal } = context;
      await listen(context, values, async (message, event) => {
        const { headers, body } = message;
        const answer = await post(url, { headers, body, signal });
        const { sequence, type } = event;
        output.line({ sequence, type, ...answer }, () => {
          const { status_code, error } = answer;
          return `${describeEvent(event)}  → ${error === '' ? status_code : error}`;
        });
      });
    },
  }),
];

const testMsMax = 20_000;

/** Waits until the log has the test's delivery: as soon as the endpoint has answered. */
async function testWebhook(
  { connect, output, signal, nowMs, sleep }: Context,
  { webhook: webhook_token }: { webhook: string },
): Promise<void> {
  const client = connect();
  const { delivery_token } = await client.testWebhook({ webhook_token }, { signal });
  const untilMs = nowMs() + testMsMax;
  const address = { webhook_token, delivery_token };
  for (;;) {
    try {
      const delivery = await client.getWebhookDelivery(address, { signal });
      const { result, status_code, error, duration_ms } = delivery;
      output.result(delivery, () => `${result}: ${error || status_code} in ${duration_ms} ms`);
      if (result === 'delivered') return;
      throw new Failure('The endpoint did not accept the test', {
        code: 'not_delivered',
        hasResult: true,
      });
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    if (nowMs() > untilMs) {
      throw new Failure('The endpoint has not answered the test yet', {
        exitCode: exitCodes.unknown,
        code: 'outcome_unknown',
      });
    }
    await sleep(testPollMs, signal);
  }
}

const testPollMs = 500;

function readUrl(text: string): URL {
  try {
    return new URL(text);
  } catch {
    throw new UsageError(`${text} must be an address such as http://localhost:3000/webhooks`);
  }
}

type Message = { headers: Record<string, string>; body: string };

/** Chosen events as messages of Standard Webhooks, signed with the secret of this session. */
async function listen(
  context: Context,
  values: Parameters<typeof chooseEvents>[1] & { readonly secret: string | undefined },
  handle: (message: Message, event: Event) => Promise<void> | void,
): Promise<void> {
  const { output, nowMs } = context;
  const secret = values.secret ?? `whsec_${randomBytes(32).toString('base64')}`;
  const key = readSecret(secret);
  if (values.secret === undefined) output.note(`Secret of this session: ${secret}`);
  for await (const event of chooseEvents(context, values)) {
    await handle(sign(event, { key, nowMs: nowMs() }), event);
  }
}

function readSecret(secret: string): Buffer {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  // The sizes that Standard Webhooks allows.
  if (secret.startsWith('whsec_') && key.length >= 24 && key.length <= 64) return key;
  throw new UsageError('--secret must be whsec_ and 24 to 64 bytes in Base64');
}

/** As the service writes and signs it (docs/guides/webhooks.md, Receive), but for the id. */
function sign(
  { created_on, type, data, ...others }: Event,
  { key, nowMs }: { key: Buffer; nowMs: number },
): Message {
  const body = writeJson({ type, timestamp: `${created_on}Z`, ...others, data });
  const id = `event_${others.sequence}`;
  const timestamp = String(Math.floor(nowMs / 1000));
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    },
    body,
  };
}

const answerMsMax = 15_000;

/** `status_code` is 0 where no answer came, and `error` says why. */
async function post(
  url: string,
  { signal, ...message }: Message & { signal: AbortSignal },
): Promise<{ status_code: number; error: string }> {
  try {
    const limit = AbortSignal.timeout(answerMsMax);
    const answer = await fetch(url, {
      method: 'POST',
      ...message,
      redirect: 'manual',
      signal: limit,
    });
    await answer.body?.cancel();
    return { status_code: answer.status, error: '' };
  } catch (error) {
    signal.throwIfAborted();
    const { cause, message: text } = error as Error & { cause?: NodeJS.ErrnoException };
    return { status_code: 0, error: cause?.code ?? cause?.message ?? text };
  }
}
