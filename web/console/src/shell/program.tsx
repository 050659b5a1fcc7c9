import { RouterProvider } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { SessionProvider } from '../api/context.tsx';
import type { Session } from '../api/session.ts';
import { createConsoleRouter } from '../router.tsx';
import { SecureFirst } from './secure.tsx';

/** The console for who is signed in. One router for all sessions, so that the address stays. */
const router = createConsoleRouter();

/** Loads the page of the address, so that the first picture is not followed by an empty one. */
export async function loadPage(): Promise<void> {
  await router.load();
}

type Props = { session: Session; onSignedOut: () => void; onSessionChanged: () => void };

export function Program({ session, onSignedOut, onSessionChanged }: Props): ReactNode {
  if (session.is_restricted) {
    return <SecureFirst {...{ session, onSignedOut, onChanged: onSessionChanged }} />;
  }
  return (
    <SessionProvider session={session} onSignedOut={onSignedOut}>
      <RouterProvider router={router} />
    </SessionProvider>
  );
}
