import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { UsageError } from '../failure.ts';
import type { Call, Exchange } from './partner.ts';

/** What the partner has stated of each reference, to be compared with what it states later. */

const statementSchema = z.strictObject({
  /** The order as it was sent; absent where the reference was only canceled or queried. */
  order: z
    .looseObject({ reference: z.string(), amount: z.string(), currency: z.string() })
    .optional(),
  /** The last state; `unknown` where nothing is booked. */
  state: z.enum(['accepted', 'ready_for_pickup', 'paid', 'rejected', 'returned', 'unknown']),
  partner_reference: z.string().optional(),
});
export type Statement = z.output<typeof statementSchema>;
const statementsSchema = z.record(z.string(), statementSchema);

export type Statements = ReadonlyMap<string, Statement>;

export type History = {
  /** Of the run before; empty without one. */
  readonly earlier: Statements;
  /** Of this run. */
  readonly now: Map<string, Statement>;
};

/** What a later statement may be. */
export const nextStates: Readonly<Record<Statement['state'], readonly string[]>> = {
  accepted: ['accepted', 'ready_for_pickup', 'paid', 'rejected', 'returned'],
  ready_for_pickup: ['ready_for_pickup', 'paid', 'rejected', 'returned'],
  paid: ['paid', 'returned'],
  rejected: ['rejected'],
  returned: ['returned'],
  unknown: ['unknown'],
};

/** @throws UsageError where the file is there and is none of a run before. */
export function readHistory(path: string | undefined): History {
  const now = new Map<string, Statement>();
  if (path === undefined || !existsSync(path)) return { earlier: new Map(), now };
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  const read = statementsSchema.safeParse(json);
  if (!read.success) throw new UsageError(`${path} must be a file that --remember has written`);
  return { earlier: new Map(Object.entries(read.data)), now };
}

/** Only of this run, so that the file does not grow. */
export function writeHistory(path: string, { earlier, now }: History): void {
  const own = [...now].filter(([reference]) => !earlier.has(reference));
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(own), null, 2)}\n`);
}

const paymentPath = /^\/payments\/([^/]+)(\/cancel)?$/;

/**
 * Keeps the statement of an answer that counts. One that cannot follow the statement before it is not kept,
 * so that the contradiction is found at the end.
 */
export function noteExchange(
  { now }: History,
  { method, path, body }: Call,
  { status, json, fault }: Exchange,
): void {
  const [, reference = '', action] = paymentPath.exec(path) ?? [];
  if (reference === '' || fault !== undefined) return;
  const known = now.get(reference);
  const { state, partner_reference, error } = (json ?? {}) as Record<string, unknown>;
  const isUnknown = status === 404 && method === 'GET' && error === 'unknown_reference';
  if (status !== 200 && !isUnknown) return;
  const isFirstOrder = method === 'PUT' && action === undefined && known?.order === undefined;
  const stated = statementSchema.safeParse({
    order: isFirstOrder ? body : known?.order,
    state: isUnknown ? 'unknown' : state,
    partner_reference: known?.partner_reference ?? partner_reference,
  });
  if (!stated.success) return;
  if (known === undefined || nextStates[known.state].includes(stated.data.state)) {
    now.set(reference, stated.data);
  }
}
