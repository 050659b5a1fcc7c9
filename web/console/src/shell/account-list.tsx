import type { ReactNode } from 'react';
import { Button } from 'react-aria-components/Button';
import { Menu, MenuItem, MenuTrigger } from 'react-aria-components/Menu';
import { Popover } from 'react-aria-components/Popover';
import { useSession } from '../api/context.tsx';
import { AccountName } from './account-name.tsx';

/** Appears when it is asked for, so it begins open. */
export function AccountList({ current }: { current: string }): ReactNode {
  const { session, choose } = useSession();
  return (
    <MenuTrigger defaultOpen>
      <Button className="account">
        <AccountName name={current} />
      </Button>
      <Popover className="popover">
        <Menu aria-label="Accounts" onAction={(key) => choose(String(key))}>
          {session.accounts.map(({ account, name }) => (
            <MenuItem key={account} id={account} className="option" textValue={name}>
              <bdi className="clip">{name}</bdi>
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}
