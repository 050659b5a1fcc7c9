import { RouterProvider } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { SessionProvider } from '../api/context.tsx';
import type { Session } from '../api/session.ts';
import { createConsoleRouter } from '../router.tsx';
import { SecureFirst } from './secure.tsx';

/** The console for who is signed in. One router for all sessions, so that the address stays. */
let router: ReturnType<typeof createConsoleRouter> | undefined;

function getRouter(): ReturnType<typeof createConsoleRouter> {
  router ??= createConsoleRouter();
  return router;
}

/**
 * Loads the page of the address, so that the first picture is not followed by an empty one. Each step is
 * a task of its own: a slow phone answers to a touch between them.
 */
export async function loadPage(): Promise<void> {
  await nextTask();
  const prepared = getRouter();
  await nextTask();
  await prepared.load();
}

const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

type Props = { session: Session; onSignedOut: () => void; onSessionChanged: () => void };

export function Program({ session, onSignedOut, onSessionChanged }: Props): ReactNode {
  if (session.is_restricted) {
    return <SecureFirst {...{ session, onSignedOut, onChanged: onSessionChanged }} />;
  }
  return (
    <SessionProvider session={session} onSignedOut={onSignedOut}>
      <RouterProvider router={getRouter()} />
    </SessionProvider>
  );
}
