import { useSyncExternalStore } from 'react';

/** Below this width the navigation is behind a button (shell.css). */
export const narrow = '(max-width: 900px)';

export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = globalThis.matchMedia(query);
      media.addEventListener('change', listener);
      return () => media.removeEventListener('change', listener);
    },
    () => globalThis.matchMedia(query).matches,
  );
}
