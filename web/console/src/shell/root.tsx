import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useCallback } from 'react';
import { SessionProvider } from '../api/context.tsx';
import { readSession, type Session, sessionKey } from '../api/session.ts';
import iconUrl from '../icon.svg';
import { ProblemNotice } from '../ui/notice.tsx';
import { SecureFirst } from './secure.tsx';
import { Shell } from './shell.tsx';
import { SignInPage } from './sign-in.tsx';

/** Signs in first; what is behind it needs a session. */
export function Root(): ReactNode {
  const queries = useQueryClient();
  const { data, error, isPending, refetch } = useQuery({
    queryKey: sessionKey,
    queryFn: readSession,
    staleTime: 60_000,
  });
  const onSignedOut = useCallback(() => queries.setQueryData(sessionKey, null), [queries]);
  const onSignedIn = (session: Session): void => {
    // Another operator may sign in where a session ended: what the one before read stays with them.
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0] });
    queries.setQueryData(sessionKey, session);
  };
  if (isPending) return <Splash />;
  if (error !== null) {
    return (
      <main className="main">
        <ProblemNotice error={error} retry={() => void refetch()} />
      </main>
    );
  }
  if (data === null) return <SignInPage onSignedIn={onSignedIn} />;
  if (data.is_restricted) {
    return <SecureFirst {...{ session: data, onSignedOut, onChanged: () => void refetch() }} />;
  }
  return (
    <SessionProvider session={data} onSignedOut={onSignedOut}>
      <Shell onSignedOut={onSignedOut} />
    </SessionProvider>
  );
}

/** The same as in index.html, so that nothing moves when the program takes over. */
function Splash(): ReactNode {
  return (
    <div className="splash">
      <img src={iconUrl} alt="" width="56" height="56" />
      <span>Outlay</span>
    </div>
  );
}
