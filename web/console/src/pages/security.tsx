import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useSession } from '../api/context.tsx';
import { sessionKey } from '../api/session.ts';
import { heads } from '../shell/heads.ts';
import { SecureForms } from '../shell/secure.tsx';
import { PageHead } from '../ui/parts.tsx';

/** The operator's own password and second factor. */
export function Security(): ReactNode {
  const { session } = useSession();
  const queries = useQueryClient();
  const { name, role } = session.operator;
  return (
    <>
      <PageHead {...heads.security} lead={`${name}, ${role}`} />
      <SecureForms
        session={session}
        onChanged={() => void queries.invalidateQueries({ queryKey: sessionKey })}
      />
    </>
  );
}
