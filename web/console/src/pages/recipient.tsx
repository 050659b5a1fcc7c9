import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Payout, User } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { nameUser, useCountryNames, userQuery } from '../api/queries.ts';
import { Icon } from '../ui/icon.tsx';
import { ProblemNotice } from '../ui/notice.tsx';
import { Copy, Empty, Foreign, PageHead, Panel, Skeleton, Time } from '../ui/parts.tsx';
import { PayoutTable } from './payouts.tsx';
import { UserStatus } from './recipients.tsx';

/** Who the recipient is, and the newest payouts to them. */
export function Recipient(): ReactNode {
  const api = useApi();
  const { user: token } = useParams({ from: '/recipients/$user' });
  const { data: user, error, refetch } = useQuery(userQuery(api, token));
  const back = (
    <Link to="/recipients" className="crumb">
      <Icon name="back" />
      Recipients
    </Link>
  );
  if (error !== null) {
    return (
      <>
        <PageHead title="Recipient" above={back} />
        <ProblemNotice error={error} retry={() => void refetch()} />
      </>
    );
  }
  return (
    <>
      <PageHead title={user === undefined ? 'Recipient' : nameUser(user)} above={back} />
      <div className="stack">
        {user === undefined ? <Skeleton height={190} /> : <Facts user={user} />}
        <UserPayouts token={token} />
      </div>
    </>
  );
}

function Facts({ user }: { user: User }): ReactNode {
  const countries = useCountryNames();
  const address = [user.address1, user.address2, user.city, user.state_province, user.postal_code];
  const facts = [
    { title: 'Email', text: user.email },
    { title: 'Mobile number', text: user.mobile_number },
    { title: 'Address', text: address.filter((part) => part !== '').join(', ') },
    { title: 'Country', text: countries.get(user.country) ?? user.country },
    { title: 'Date of birth', text: user.date_of_birth },
    { title: 'Language', text: user.language },
    { title: 'Your identifier', text: user.internal_user_id },
  ];
  return (
    <Panel title="Details" aside={<UserStatus status={user.status} />}>
      <dl className="facts">
        {facts
          .filter(({ text }) => text !== '')
          .map(({ title, text }) => (
            <div key={title} className="pair">
              <dt>{title}</dt>
              <dd>
                <Foreign>{text}</Foreign>
              </dd>
            </div>
          ))}
        <dt>Recipient</dt>
        <dd>
          <Copy value={user.user_token} label="user token" />
        </dd>
        <dt>Created</dt>
        <dd>
          <Time value={user.created_on} />
        </dd>
      </dl>
    </Panel>
  );
}

function UserPayouts({ token }: { token: string }): ReactNode {
  const api = useApi();
  const { data, error } = useQuery({
    queryKey: [api.account, 'payouts', { user_token: token }],
    queryFn: () => api.readPage<Payout>('/payout', { user_token: token, number_of_records: 10 }),
  });
  const all = (
    <Link to="/payouts" search={{ recipient: token }}>
      All of them
    </Link>
  );
  return (
    <Panel title="Newest payouts" isFlush aside={all}>
      {error === null ? null : <ProblemNotice error={error} />}
      {data?.rows.length === 0 ? (
        <Empty icon="payout" title="Never paid">
          Payouts to this recipient appear here.
        </Empty>
      ) : (
        <PayoutTable rows={data?.rows} />
      )}
    </Panel>
  );
}
