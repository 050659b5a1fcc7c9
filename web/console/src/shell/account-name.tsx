import type { ReactNode } from 'react';
import { Icon } from '../ui/icon.tsx';

/** What the button of the accounts shows. */
export function AccountName({ name }: { name: string }): ReactNode {
  return (
    <>
      <span>
        <span className="small faint clip">Account</span>
        <bdi className="clip">{name}</bdi>
      </span>
      <Icon name="chevron" />
    </>
  );
}
