import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMayWrite } from '../api/context.tsx';
import { Icon } from './icon.tsx';

export function NewPayoutLink(): ReactNode {
  return useMayWrite() ? (
    <Link to="/pay" className="button primary">
      <Icon name="plus" />
      New payout
    </Link>
  ) : null;
}
