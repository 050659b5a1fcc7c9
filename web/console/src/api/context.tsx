import { createContext, type ReactNode, useContext, useMemo, useState } from 'react';
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
  const isThere = session.accounts.some(({ account }) => account === chosen);
  const account = isThere ? chosen : (session.accounts[0]?.account ?? '');
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

/** The accounts that the operator may look at, as a list to choose from. */
export function useAccountChoices(): { value: string; label: string }[] {
  const { accounts } = useSessionContext().session;
  return accounts.map(({ account: value, name: label }) => ({ value, label }));
}
