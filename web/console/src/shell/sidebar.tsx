import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useSession } from '../api/context.tsx';
import iconUrl from '../icon.svg';
import { AccountField } from '../ui/account-field.tsx';
import { Icon } from '../ui/icon.tsx';
import { AccountName } from './account-name.tsx';
import { groups, type Section, sandboxSection } from './sections.ts';
import { useSignOut } from './sign-out.tsx';
import { useTheme } from './theme.ts';

const AccountList = lazy(async () => ({
  default: (await import('./account-list.tsx')).AccountList,
}));

export function Sidebar({ onSearch }: { onSearch: () => void }): ReactNode {
  const { session } = useSession();
  const isStaging = session.environment === 'staging';
  return (
    <aside className="sidebar" aria-label="Console">
      <div className="row between">
        <Brand />
        <Environment />
      </div>
      <AccountMenu />
      <Button className="search" onPress={onSearch} aria-keyshortcuts="Control+K">
        <Icon name="search" />
        Search or go to
        <kbd className="kbd">Ctrl K</kbd>
      </Button>
      <nav className="nav" aria-label="Main">
        {groups.map(({ title, sections }) => (
          <div key={title}>
            <h2>{title}</h2>
            {sections.map((section) => (
              <SectionLink key={section.to} section={section} />
            ))}
            {title === 'Build' && isStaging ? <SectionLink section={sandboxSection} /> : null}
          </div>
        ))}
      </nav>
      <Who />
    </aside>
  );
}

function SectionLink({ section }: { section: Section }): ReactNode {
  return (
    <Link to={section.to} activeOptions={{ exact: section.to === '/', includeSearch: false }}>
      <Icon name={section.icon} />
      {section.label}
    </Link>
  );
}

export function Brand(): ReactNode {
  return (
    <Link to="/" className="brand">
      <img src={iconUrl} alt="" width="24" height="24" />
      Outlay
    </Link>
  );
}

/** Live moves real money. It differs from staging in word, icon and color, on every page. */
export function Environment(): ReactNode {
  const { environment } = useSession().session;
  return environment === 'live' ? (
    <span className="environment live">
      <Icon name="alert" />
      LIVE
    </span>
  ) : (
    <span className="environment staging">
      <Icon name="flask" />
      Staging
    </span>
  );
}

function AccountMenu(): ReactNode {
  const { session, account, choose } = useSession();
  if (session.accounts.length <= 50) return <AccountChoice />;
  // Many accounts: the platform's list, in which typing finds a name, or a search.
  return <AccountField label="Account" value={account} onText={choose} />;
}

/** The list is loaded when it is first opened: menus are a tenth of the first screen. */
function AccountChoice(): ReactNode {
  const current = useCurrentAccount();
  const [isWanted, setWanted] = useState(false);
  const closed = (
    <Button className="account" aria-haspopup="menu" onPress={() => setWanted(true)}>
      <AccountName name={current} />
    </Button>
  );
  if (!isWanted) return closed;
  return (
    <Suspense fallback={closed}>
      <AccountList current={current} />
    </Suspense>
  );
}

function useCurrentAccount(): string {
  const { session, account } = useSession();
  const found = session.accounts.find((entry) => entry.account === account);
  return found?.name ?? 'No account';
}

function Who(): ReactNode {
  const { session, onSignedOut } = useSession();
  const { operator } = session;
  const { leave, failure } = useSignOut(session, onSignedOut);
  const [theme, toggle] = useTheme();
  const other = theme === 'dark' ? 'light' : 'dark';
  return (
    <>
      {failure}
      <footer>
        <Link to="/access" className="who">
          <bdi className="clip">{operator.name}</bdi>
          <span className="small faint">{operator.role} · your access</span>
        </Link>
        <Button
          className="button plain square"
          onPress={toggle}
          aria-label={`Change to ${other} colors`}
        >
          <Icon name={theme === 'dark' ? 'sun' : 'moon'} />
        </Button>
        <Button className="button plain square" onPress={leave} aria-label="Sign out">
          <Icon name="leave" />
        </Button>
      </footer>
    </>
  );
}
