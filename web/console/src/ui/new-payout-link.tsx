import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useMay } from '../api/operator.ts';
import { Icon } from './icon.tsx';

export function NewPayoutLink(): ReactNode {
  return useMay('operate') ? (
    <Link to="/pay" className="button primary">
      <Icon name="plus" />
      New payout
    </Link>
  ) : null;
}
