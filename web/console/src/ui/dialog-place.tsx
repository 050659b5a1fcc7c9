import { useRouterState } from '@tanstack/react-router';
import { createContext, type ReactNode, useContext, useEffect, useState } from 'react';

type Show = (dialog: ReactNode) => void;

const PlaceContext = createContext<Show | undefined>(undefined);

/**
 * Keeps the dialog that a part of the page has opened. The part can leave the page while the dialog is open,
 * as a row does that the next read no longer lists: the dialog stays, with a secret that is shown once.
 */
export function DialogPlace({ children }: { children: ReactNode }): ReactNode {
  const [dialog, show] = useState<ReactNode>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => show(null), [path]);
  return (
    <PlaceContext value={show}>
      {children}
      {dialog}
    </PlaceContext>
  );
}

/** Shows a dialog as it is now; null closes it. */
export function useDialogPlace(): Show {
  const show = useContext(PlaceContext);
  if (show === undefined) throw new Error('used outside of DialogPlace');
  return show;
}
