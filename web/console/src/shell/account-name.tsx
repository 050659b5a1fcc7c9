import type { ReactNode } from 'react';
import { Icon } from '../ui/icon.tsx';
import { Foreign } from '../ui/parts.tsx';

/** What the button of the accounts shows. */
export function AccountName({ name }: { name: string }): ReactNode {
  return (
    <>
      <span>
        <span className="small faint clip">Account</span>
        <span className="clip">
          <Foreign>{name}</Foreign>
        </span>
      </span>
      <Icon name="chevron" />
    </>
  );
}
