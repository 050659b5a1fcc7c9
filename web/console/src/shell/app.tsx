import { queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useCallback } from 'react';
import { forgetReads, keepSession, type Session, sessionQuery } from '../api/session.ts';
import iconUrl from '../icon.svg';
import { ProblemNotice } from '../ui/notice.tsx';
import { SignInPage } from './sign-in.tsx';

/** Everything behind the sign-in. Who has no session loads it while the form is filled. */
export const programQuery = queryOptions({
  queryKey: ['program'],
  queryFn: () => import('./program.tsx'),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Signs in first; what is behind it needs a session. */
export function App(): ReactNode {
  const queries = useQueryClient();
  const { data, error, isPending, refetch } = useQuery(sessionQuery);
  const program = useQuery(programQuery);
  const onSignedOut = useCallback(() => void keepSession(queries, null), [queries]);
  const onSignedIn = (session: Session): void => {
    // Another operator may sign in where a session ended: what the one before read stays with them.
    forgetReads(queries);
    void keepSession(queries, session);
  };
  if (isPending) return <Splash />;
  if (error !== null) return <Fault error={error} retry={() => void refetch()} />;
  if (data === null) return <SignInPage onSignedIn={onSignedIn} />;
  if (program.isPending) return <Splash />;
  if (program.error !== null) {
    return <Fault error={program.error} retry={() => globalThis.location.reload()} />;
  }
  const { Program } = program.data;
  return (
    <Program session={data} onSignedOut={onSignedOut} onSessionChanged={() => void refetch()} />
  );
}

function Fault({ error, retry }: { error: unknown; retry: () => void }): ReactNode {
  return (
    <main className="main">
      <ProblemNotice error={error} retry={retry} />
    </main>
  );
}

function Splash(): ReactNode {
  return (
    <div className="splash">
      <img src={iconUrl} alt="" width="56" height="56" />
      <span>Outlay</span>
    </div>
  );
}
