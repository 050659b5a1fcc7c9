import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { ProblemError } from '../../../../sdk/src/errors.ts';
import { exchange, readAnswer, send } from './exchange.ts';
import type { components } from './generated/operators.ts';

/** The browser's session with the service: who signed in, for which accounts, until when. */

type Schemas = components['schemas'];

export type Session = Schemas['Session'];

export type SignIn =
  | { operator: string; password: string; code?: string }
  | { link: string }
  | { key: string };

declare global {
  /** The page's own question for the session, asked before the program was there (index.html). */
  var outlaySession: Promise<Response> | undefined;
}

/** A browser without the cookie has no session; the page shows the sign-in form. */
export const mayHaveSession = document.documentElement.dataset['session'] !== 'no';
let isKnownAbsent = !mayHaveSession;

const at = (name: string): string => `/console/${name}`;

/** Under which the session is kept. */
export const sessionKey = ['session'];

/** A password or a code that is wrong is answered 401 as well, and ends no session. */
export function isEndOfSession(error: unknown): boolean {
  return error instanceof ProblemError && error.code === 'unauthorized';
}

/** Null without a session. @throws OutlayError where the service does not answer as it should. */
async function readSession(): Promise<Session | null> {
  if (isKnownAbsent) {
    isKnownAbsent = false;
    return null;
  }
  const early = globalThis.outlaySession;
  globalThis.outlaySession = undefined;
  // One that failed is asked again, which says why.
  const response = (await early?.catch(() => undefined)) ?? (await send(at('session')));
  if (response.status === 401) return null;
  return readAnswer(response);
}

export const sessionQuery = queryOptions({
  queryKey: sessionKey,
  queryFn: readSession,
  staleTime: 60_000,
});

/**
 * Keeps the session as the service has just answered it, null after its end. An earlier question for it may
 * still be under way, and its answer must not undo this.
 */
export async function keepSession(queries: QueryClient, session: Session | null): Promise<void> {
  await queries.cancelQueries({ queryKey: sessionKey });
  queries.setQueryData(sessionKey, session);
}

/** What outlives a session: the question for it, and the program. */
const lasting: ReadonlySet<unknown> = new Set([...sessionKey, 'program']);

/** What was read stays with who read it. */
export function forgetReads(queries: QueryClient): void {
  queries.removeQueries({ predicate: ({ queryKey }) => !lasting.has(queryKey[0]) });
}

export async function signIn(credential: SignIn): Promise<Session> {
  return exchange(at('session'), { method: 'POST', body: credential });
}

/** A session that has ended already is signed out. @throws OutlayError where it may still be open. */
export async function signOut({ csrf }: Session): Promise<void> {
  try {
    await exchange(at('session'), { method: 'DELETE', csrf });
  } catch (error) {
    if (!isEndOfSession(error)) throw error;
  }
}

export type TotpProposal = Schemas['SecondFactorProposal'];

export async function proposeTotp({ csrf }: Session): Promise<TotpProposal> {
  return exchange(at('totp'), { method: 'POST', csrf });
}

type TotpAnswer = { proposal: string; code: string; current_code?: string };

export async function confirmTotp({ csrf }: Session, answer: TotpAnswer): Promise<void> {
  await exchange(at('totp'), { method: 'PUT', csrf, body: answer });
}

type NewPassword = { password: string; current_password?: string };

export async function changePassword({ csrf }: Session, change: NewPassword): Promise<void> {
  await exchange(at('password'), { method: 'PUT', csrf, body: change });
}
