import { Link, useNavigate } from '@tanstack/react-router';
import { type MouseEvent, type ReactNode, useState } from 'react';
import { askOperator } from '../api/ask-operator.ts';
import type { Payout } from '../api/client.ts';
import { useSession } from '../api/context.tsx';

/** To a payout of which only the token is known: its account is looked up when the link is used. */
export function TokenLink({ token }: { token: string }): ReactNode {
  const { session, apiOf, choose } = useSession();
  const navigate = useNavigate();
  const [isMissing, setMissing] = useState(false);
  const find = async (): Promise<void> => {
    const path = `payouts/${encodeURIComponent(token)}/explanation`;
    const { account_id: account } = await askOperator<{ account_id: string }>(session, path);
    const filter = { payout_token: token, number_of_records: 1 };
    const { rows } = await apiOf(account).readPage<Payout>('/payout', filter);
    const user = rows[0]?.user_token;
    if (user === undefined) return setMissing(true);
    choose(account);
    await navigate({ to: '/payouts/$user/$payout', params: { user, payout: token } });
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
