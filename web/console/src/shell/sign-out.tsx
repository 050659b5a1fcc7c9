import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Button } from 'react-aria-components/Button';
import { forgetReads, type Session, signOut } from '../api/session.ts';
import { Notice } from '../ui/notice.tsx';

type SignOut = { leave: () => void; failure: ReactNode };

/** Without the service's answer the session may still be open, and `failure` says so. */
export function useSignOut(session: Session, onSignedOut: () => void): SignOut {
  const queries = useQueryClient();
  const { mutate, isError } = useMutation({
    mutationFn: () => signOut(session),
    onSuccess: () => {
      onSignedOut();
      // What was read stays with who read it.
      forgetReads(queries);
    },
  });
  const failure = isError ? (
    <Notice tone="danger" title="You may still be signed in">
      <p>The service did not confirm the sign-out.</p>
      <p>
        <Button className="button" onPress={() => mutate()}>
          Try again
        </Button>
      </p>
    </Notice>
  ) : null;
  return { leave: () => mutate(), failure };
}
