import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

/** Leads to the results of a recipient or a payout, with what can be decided. */
export function SubjectLink({ of }: { of: string }): ReactNode {
  return (
    <Link to="/screening" search={{ of }}>
      Look at the hits
    </Link>
  );
}
