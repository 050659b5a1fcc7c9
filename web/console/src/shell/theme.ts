import { useSyncExternalStore } from 'react';

export type Theme = 'light' | 'dark';

const storageName = 'outlay-theme';
const listeners = new Set<() => void>();
const system = globalThis.matchMedia('(prefers-color-scheme: dark)');

function read(): Theme {
  const chosen = localStorage.getItem(storageName);
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return system.matches ? 'dark' : 'light';
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  system.addEventListener('change', listener);
  return () => {
    listeners.delete(listener);
    system.removeEventListener('change', listener);
  };
}

/** Before the first picture, so that no page appears in the wrong colors. */
export function applyTheme(): void {
  const chosen = localStorage.getItem(storageName);
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset['theme'] = chosen;
}

export function useTheme(): [Theme, () => void] {
  const theme = useSyncExternalStore(subscribe, read);
  const toggle = (): void => {
    localStorage.setItem(storageName, theme === 'dark' ? 'light' : 'dark');
    applyTheme();
    for (const listener of listeners) listener();
  };
  return [theme, toggle];
}
