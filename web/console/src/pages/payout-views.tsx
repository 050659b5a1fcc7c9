import { Link } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState, useSyncExternalStore } from 'react';
import { Button } from 'react-aria-components/Button';
import { useSession } from '../api/context.tsx';
import { Icon } from '../ui/icon.tsx';
import { Foreign } from '../ui/parts.tsx';
import { isSameSearch, type PayoutSearch, readPayoutSearch } from './payout-search.ts';

const SaveViewDialog = lazy(async () => ({
  default: (await import('./payout-view-dialog.tsx')).SaveViewDialog,
}));

type SaveProps = { save: (name: string) => void };

/**
 * Views of the list of payouts under names of their own. They stay in this browser: what was searched for
 * can name a person, and the service could not erase it with the person's data.
 */
type View = { name: string; search: PayoutSearch };

const viewsMax = 20;
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Those of an operator in an environment: tokens of live mean nothing in staging. */
function useViews(): [readonly View[], (views: readonly View[]) => void] {
  const { environment, operator } = useSession().session;
  const storageName = `outlay-views ${environment} ${operator.name}`;
  const text = useSyncExternalStore(subscribe, () => localStorage.getItem(storageName) ?? '[]');
  const store = (views: readonly View[]): void => {
    localStorage.setItem(storageName, JSON.stringify(views));
    for (const listener of listeners) listener();
  };
  return [readViews(text), store];
}

/** Of what another version may have stored, only what this one understands. */
function readViews(text: string): View[] {
  try {
    const stored: unknown = JSON.parse(text);
    return (Array.isArray(stored) ? stored : []).flatMap((view: unknown): View[] => {
      const { name, search } = { ...(view as Partial<View> | null) };
      if (typeof name !== 'string' || typeof search !== 'object') return [];
      return [{ name, search: readPayoutSearch(search) }];
    });
  } catch {
    return [];
  }
}

/** Beside the views of the console. */
export function SavedViews({ search: { cursor: _cursor, ...search } }: Props): ReactNode {
  const [views, store] = useViews();
  const current = views.find((view) => isSameSearch(view.search, search));
  const remove = (): void => store(views.filter((view) => view !== current));
  const save = (name: string): void => {
    const others = views.filter((view) => view.name !== name);
    store([...others, { name, search }].slice(-viewsMax));
  };
  return (
    <>
      {views.map((view) => (
        <Link key={view.name} to="/payouts" search={view.search} data-current={view === current}>
          <Foreign>{view.name}</Foreign>
        </Link>
      ))}
      {current === undefined ? null : (
        <Button className="button plain" onPress={remove}>
          <Icon name="close" />
          Forget this view
        </Button>
      )}
      {current === undefined && Object.keys(search).length > 0 ? <SaveView save={save} /> : null}
    </>
  );
}

type Props = { search: PayoutSearch };

/** The dialog is loaded when it is wanted, so it begins open. */
function SaveView({ save }: SaveProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button className="button plain" onPress={() => setOpen(true)}>
        <Icon name="plus" />
        Save this view
      </Button>
      <Suspense>
        {isOpen ? <SaveViewDialog save={save} onClose={() => setOpen(false)} /> : null}
      </Suspense>
    </>
  );
}
