import { Outlet, useRouterState } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useSession } from '../api/context.tsx';
import { DialogPlace } from '../ui/dialog-place.tsx';
import { Icon } from '../ui/icon.tsx';
import { narrow, useMedia } from '../ui/media.ts';
import { Brand, Environment, Sidebar } from './sidebar.tsx';

const CommandPalette = lazy(async () => ({
  default: (await import('./command-palette.tsx')).CommandPalette,
}));

const PhoneDrawer = lazy(async () => ({
  default: (await import('./phone-drawer.tsx')).PhoneDrawer,
}));

/** Navigation beside the page on a desk, behind a button on a phone. */
export function Shell(): ReactNode {
  const { session, account } = useSession();
  const [isSearching, setSearching] = useState(false);
  const isNarrow = useMedia(narrow);
  useShortcut(() => setSearching(true));
  useTitle(session.environment);
  const sidebar = <Sidebar onSearch={() => setSearching(true)} />;
  return (
    <DialogPlace>
      <a className="button primary skip" href="#main">
        Skip to the page
      </a>
      <div className="frame" data-environment={session.environment}>
        {isNarrow ? null : sidebar}
        <PhoneBar sidebar={sidebar} onSearch={() => setSearching(true)} />
        <main className="main" id="main" tabIndex={-1} key={account}>
          <Suspense>
            <Outlet />
          </Suspense>
        </main>
      </div>
      <Suspense>
        {isSearching ? <CommandPalette onClose={() => setSearching(false)} /> : null}
      </Suspense>
    </DialogPlace>
  );
}

type PhoneBarProps = { sidebar: ReactNode; onSearch: () => void };

function PhoneBar({ sidebar, onSearch }: PhoneBarProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => setOpen(false), [path]);
  return (
    <header className="topbar">
      <Button className="button plain square" aria-label="Menu" onPress={() => setOpen(true)}>
        <Icon name="menu" />
      </Button>
      <Brand />
      <Environment />
      <Button className="button plain square" aria-label="Search" onPress={onSearch}>
        <Icon name="search" />
      </Button>
      <Suspense>
        {isOpen ? <PhoneDrawer onOpenChange={setOpen}>{sidebar}</PhoneDrawer> : null}
      </Suspense>
    </header>
  );
}

/** Ctrl-K, or Cmd-K on a Mac, everywhere; `/` outside of text fields. */
function useShortcut(open: () => void): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      const isTyping =
        event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
      const isCommand = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k';
      if (!isCommand && (isTyping || event.key !== '/')) return;
      event.preventDefault();
      open();
    };
    document.addEventListener('keydown', listen);
    return () => document.removeEventListener('keydown', listen);
  }, [open]);
}

function useTitle(environment: string): void {
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => {
    const page = document.querySelector('main h1')?.textContent ?? '';
    const mark = environment === 'live' ? 'LIVE · ' : '';
    document.title = `${mark}${page === '' ? '' : `${page} · `}Outlay`;
  }, [environment, path]);
}
