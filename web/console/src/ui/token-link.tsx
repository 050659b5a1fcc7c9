import { Link, useNavigate } from '@tanstack/react-router';
import { type MouseEvent, type ReactNode, useState } from 'react';
import type { Payout } from '../api/client.ts';
import { useSession } from '../api/context.tsx';

/** To a payout of which only the token is known: its account is looked up when the link is used. */
export function TokenLink({ token }: { token: string }): ReactNode {
  const { session, account, apiOf, choose } = useSession();
  const navigate = useNavigate();
  const [isMissing, setMissing] = useState(false);
  const find = async (): Promise<void> => {
    const others = session.accounts.map((one) => one.account).filter((one) => one !== account);
    for (const id of [account, ...others]) {
      const filter = { payout_token: token, number_of_records: 1 };
      const { rows } = await apiOf(id).readPage<Payout>('/payout', filter);
      const user = rows[0]?.user_token;
      if (user === undefined) continue;
      choose(id);
      await navigate({ to: '/payouts/$user/$payout', params: { user, payout: token } });
      return;
    }
    setMissing(true);
  };
  const open = (event: MouseEvent): void => {
    event.preventDefault();
    find().catch(() => setMissing(true));
  };
  return (
    <>
      <Link to="/payouts" search={{ q: token }} className="mono" onClick={open}>
        {token}
      </Link>
      {isMissing ? <span className="small soft"> The payout cannot be opened.</span> : null}
    </>
  );
}
