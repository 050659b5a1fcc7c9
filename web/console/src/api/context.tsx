import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useMemo, useState } from 'react';
import { accountQuery, findListed } from './accounts.ts';
import { type Api, createApi } from './client.ts';
import type { Session } from './session.ts';

type Context = {
  session: Session;
  account: string;
  api: Api;
  /** The same for another account that the operator may look at. */
  apiOf: (account: string) => Api;
  choose: (account: string) => void;
  onSignedOut: () => void;
};

const SessionContext = createContext<Context | undefined>(undefined);

/** The account that was last looked at, in this browser. */
const storageName = 'outlay-account';

type ProviderProps = { session: Session; onSignedOut: () => void; children: ReactNode };

export function SessionProvider({ session, onSignedOut, children }: ProviderProps): ReactNode {
  const [chosen, setChosen] = useState(() => localStorage.getItem(storageName) ?? '');
  const account = useChosenAccount(session, chosen);
  const apiOf = useMemo(() => {
    const opened = new Map<string, Api>();
    return (of: string): Api => {
      const api = opened.get(of) ?? createApi({ session, account: of, onSignedOut });
      opened.set(of, api);
      return api;
    };
  }, [session, onSignedOut]);
  const value = useMemo(
    () => ({
      session,
      account,
      api: apiOf(account),
      apiOf,
      onSignedOut,
      choose: (next: string) => {
        localStorage.setItem(storageName, next);
        setChosen(next);
      },
    }),
    [session, account, apiOf, onSignedOut],
  );
  return <SessionContext value={value}>{children}</SessionContext>;
}

/** The one that was chosen, or the first one where there is none or it is gone. */
function useChosenAccount(session: Session, chosen: string): string {
  const { data } = useQuery(accountQuery(session, chosen));
  const isListed = findListed(session, chosen) !== null;
  const mayBeThere = session.has_more_accounts && chosen !== '' && data !== null;
  return isListed || mayBeThere ? chosen : (session.accounts[0]?.account ?? '');
}

function useSessionContext(): Context {
  const value = useContext(SessionContext);
  if (value === undefined) throw new Error('used outside of SessionProvider');
  return value;
}

export function useApi(): Api {
  return useSessionContext().api;
}

export function useSession(): Omit<Context, 'api'> {
  return useSessionContext();
}
