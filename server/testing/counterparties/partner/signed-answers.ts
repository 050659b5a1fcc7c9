import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { PartnerState } from './handlers.ts';
import type { PartnerHttpRequest, Reply } from './simulator-level.ts';
import type { Fault } from './simulator-options.ts';

/** The simulator's answers, with their faults. */

type Answering = {
  readonly partner: PartnerState;
  readonly received: PartnerHttpRequest;
  readonly reply: Reply;
  readonly fault: Fault | undefined;
};

export async function sendAnswer(answering: Answering, response: ServerResponse): Promise<void> {
  const { fault } = answering;
  switch (fault?.kind) {
    case 'error_after':
      response.writeHead(500).end('failed');
      return;
    case 'reset_after':
      response.socket?.resetAndDestroy();
      return;
    case 'silent_after':
      return;
    case 'garbage':
      response.writeHead(200, { 'content-type': 'application/json' }).end(randomBytes(200));
      return;
    default: {
      const text = JSON.stringify(distort(withClaim(answering).reply.json, fault));
      const { level, options } = answering.partner;
      const isRepeating = options.defects.includes('repeats_members');
      const body = Buffer.from(isRepeating ? `{"note":"a","note":"b",${text.slice(1)}` : text);
      const answer = withClaim(answering);
      response.writeHead(answer.reply.status, await level.describeAnswer(answer, body));
      await writeBody(response, { body, fault });
    }
  }
}

function distort(json: object, fault: Fault | undefined): object {
  if ('orders' in json) return { ...json, orders: distortItems(json.orders as Item[], fault) };
  if (fault?.kind === 'wrong_amount') return { ...json, amount: '7777.77' };
  if (fault?.kind === 'wrong_reference') return { ...json, reference: 'another-one' };
  if (!('state' in json)) return json;
  switch (fault?.kind) {
    case 'claims_rejected':
      return { ...json, state: 'rejected', reason: 'account_closed' };
    case 'claims_accepted':
      return { ...json, state: 'accepted', returns: [] };
    case 'claims_paid':
      return { ...json, state: 'paid' };
    default:
      return json;
  }
}

type Item = { readonly reference: string; readonly payment?: object };

function distortItems(items: readonly Item[], fault: Fault | undefined): readonly object[] {
  return items.map((item) => {
    const { payment } = item;
    return payment === undefined ? item : { ...item, payment: distort(payment, fault) };
  });
}

function withClaim(answering: Answering): Answering {
  const { fault, reply } = answering;
  if (fault?.kind !== 'claims_unknown') return answering;
  return { ...answering, reply: { ...reply, status: 404, json: { error: 'unknown_reference' } } };
}

async function writeBody(
  response: ServerResponse,
  { body, fault }: { body: Buffer; fault: Fault | undefined },
): Promise<void> {
  if (fault?.kind === 'cut') {
    response.write(body.subarray(0, body.length / 2), () => response.socket?.resetAndDestroy());
    return;
  }
  if (fault?.kind !== 'drip') {
    response.end(body);
    return;
  }
  for (const byte of body) {
    response.write(Buffer.of(byte));
    await new Promise((resolve) => {
      setTimeout(resolve, fault.delayMs / body.length);
    });
  }
  response.end();
}
