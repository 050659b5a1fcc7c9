import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useCallback } from 'react';
import { SessionProvider } from '../api/context.tsx';
import { readSession, type Session } from '../api/session.ts';
import iconUrl from '../icon.svg';
import { ProblemNotice } from '../ui/notice.tsx';
import { SecureFirst } from './secure.tsx';
import { Shell } from './shell.tsx';
import { SignInPage } from './sign-in.tsx';

const queryKey = ['session'];

/** Signs in first; what is behind it needs a session. */
export function Root(): ReactNode {
  const queries = useQueryClient();
  const { data, error, isPending, refetch } = useQuery({
    queryKey,
    queryFn: readSession,
    staleTime: 60_000,
  });
  const onSignedOut = useCallback(() => queries.setQueryData(queryKey, null), [queries]);
  const onSignedIn = (session: Session): void => {
    queries.setQueryData(queryKey, session);
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
