import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode, startTransition } from 'react';
import { createRoot } from 'react-dom/client';
import { ProblemError } from '../../../sdk/src/errors.ts';
import { isEndOfSession, keepSession, mayHaveSession, sessionQuery } from './api/session.ts';
import { App, programQuery } from './shell/app.tsx';
import { applyTheme } from './shell/theme.ts';
import './styles/tokens.css';
import './styles/base.css';
import './styles/parts.css';
import './styles/shell.css';

applyTheme();

/** Signing in appears in the place of the page, which is there again afterwards at the same address. */
function onError(error: unknown): void {
  if (isEndOfSession(error)) void keepSession(queries, null);
}

const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // The client retries by itself what can succeed later; a refusal stays one.
      retry: (count, error) => count < 1 && !(error instanceof ProblemError),
    },
    // Without a network they fail at once: none is kept and sent when the person has left the page.
    mutations: { networkMode: 'always' },
  },
});

const root = document.querySelector('#root');
if (root === null) throw new Error('the page has no #root');

/** What was painted first (first-paint.ts) stays until all of the page can take its place. */
if (mayHaveSession) {
  await Promise.all([
    queries.prefetchQuery(sessionQuery),
    queries.fetchQuery(programQuery).then(({ loadPage }) => loadPage(), reportLater),
  ]);
}
// In a transition it gives way to what a person does meanwhile.
startTransition(() => {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
});

/** The query keeps the error, and the page shows it. */
function reportLater(): void {}
