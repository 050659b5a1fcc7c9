import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useSession } from '../api/context.tsx';
import { Foreign } from './parts.tsx';

type PayoutProps = { account: string; user: string; payout: string; children: ReactNode };

/** To a payout of any account: that account is chosen first. */
export function PayoutLink({ account, user, payout, children }: PayoutProps): ReactNode {
  const { choose } = useSession();
  return (
    <Link to="/payouts/$user/$payout" params={{ user, payout }} onClick={() => choose(account)}>
      {children}
    </Link>
  );
}

type RecipientProps = { account: string; user: string; name: string | undefined };

/** To a recipient of any account, by name. */
export function RecipientLink({ account, user, name }: RecipientProps): ReactNode {
  const { choose } = useSession();
  return (
    <Link to="/recipients/$user" params={{ user }} onClick={() => choose(account)}>
      {name === undefined ? '…' : <Foreign>{name}</Foreign>}
    </Link>
  );
}
