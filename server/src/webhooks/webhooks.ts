import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import type { EndpointId } from './deliveries.sql.ts';
import { secretContext } from './sending.ts';
import { type Algorithm, createSecret } from './signatures.ts';
import {
  countReplay,
  type EndpointChanges,
  type EndpointRow,
  type EndpointTerms,
  endpointsMax,
  endSecret,
  findEndpoint,
  insertEndpoint,
  insertSecret,
  insertTest,
  pauseEndpoint,
  type ReplayRange,
  removeEndpoint,
  resumeEndpoint,
  startReplay,
  updateEndpoint,
} from './webhooks.sql.ts';

export { measureWebhooks, type WebhookMeasureRow } from './webhooks.sql.ts';

/** Webhook endpoints as clients manage them. Sending: deliverer.ts. */

export type EndpointContext = EndpointId & { readonly session: Session };

/** The secret that the client gets to know; empty for Ed25519, which needs the public key only. */
export type EndpointWithSecret = { readonly endpoint: EndpointRow; readonly secret: string };

/** @throws AppError not_found. */
export async function getEndpoint({ session, ...id }: EndpointContext): Promise<EndpointRow> {
  const row = await findEndpoint(session, id);
  if (row === undefined) throw new AppError('not_found', 'Webhook not found');
  return row;
}

/** @throws AppError illegal_move if the account has its maximum of endpoints. */
export async function createEndpoint(
  context: EndpointContext,
  terms: EndpointTerms & { algorithm: Algorithm; keys: KeyRing },
): Promise<EndpointWithSecret> {
  const { session, ...id } = context;
  if (!(await insertEndpoint(session, id, terms))) {
    throw new AppError('illegal_move', `an account has at most ${endpointsMax} webhooks`);
  }
  const secret = await addSecret(context, terms);
  return { endpoint: await getEndpoint(context), secret };
}

/** @throws AppError not_found. */
export async function changeEndpoint(
  context: EndpointContext,
  changes: EndpointChanges,
): Promise<EndpointRow> {
  await getEndpoint(context);
  await updateEndpoint(context.session, context, changes);
  return getEndpoint(context);
}

/** Pausing an endpoint that is not enabled changes nothing. @throws AppError not_found. */
export async function pause(context: EndpointContext): Promise<EndpointRow> {
  await pauseEndpoint(context.session, context);
  return getEndpoint(context);
}

/** Enables the endpoint; what waits for a retry is sent at once. @throws AppError not_found. */
export async function resume(context: EndpointContext): Promise<EndpointRow> {
  await resumeEndpoint(context.session, context);
  return getEndpoint(context);
}

/** @throws AppError not_found. */
export async function remove(context: EndpointContext): Promise<EndpointRow> {
  const row = await getEndpoint(context);
  await removeEndpoint(context.session, context);
  return row;
}

/** A new secret; the one before it signs too, for the given hours. @throws AppError not_found. */
export async function rotateSecret(
  context: EndpointContext,
  rotation: { algorithm: Algorithm | undefined; overlapHours: number; keys: KeyRing },
): Promise<EndpointWithSecret> {
  const { algorithm: before } = await getEndpoint(context);
  await endSecret(context.session, context, rotation.overlapHours);
  const secret = await addSecret(context, {
    keys: rotation.keys,
    algorithm: rotation.algorithm ?? before,
  });
  return { endpoint: await getEndpoint(context), secret };
}

async function addSecret(
  { session, ...id }: EndpointContext,
  { algorithm, keys }: { algorithm: Algorithm; keys: KeyRing },
): Promise<string> {
  const { secret, publicKey } = createSecret(algorithm);
  const secretId = newId();
  const sealed = keys.seal(Buffer.from(secret), secretContext(id, secretId));
  await insertSecret(session, id, { id: secretId, algorithm, sealed, publicKey });
  return algorithm === 'ed25519' ? '' : secret;
}

/** Requests a test delivery, regardless of the status of the endpoint. Returns the delivery's id. */
export async function requestTest(context: EndpointContext): Promise<string> {
  await getEndpoint(context);
  return insertTest(context.session, context, newId());
}

/** What a replay would send. */
export type ReplayPreview = { count: bigint; first: bigint | null; last: bigint | null };

/**
 * Sends kept events of a range again, before new ones.
 *
 * @throws AppError not_found; illegal_move while another replay is under way.
 */
export async function replay(
  context: EndpointContext,
  range: ReplayRange,
  { isDryRun }: { isDryRun: boolean },
): Promise<ReplayPreview> {
  await getEndpoint(context);
  const preview = await countReplay(context.session, context, range);
  const { first, last } = preview;
  if (isDryRun || first === null || last === null) return preview;
  const { eventTypes } = range;
  if (!(await startReplay(context.session, context, { first, last, eventTypes }))) {
    throw new AppError('illegal_move', 'a replay is under way: wait until it has ended');
  }
  return preview;
}
