import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { ProblemError } from '../../../../sdk/src/errors.ts';
import type { Payout, User } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { nameUser } from '../api/names.ts';
import { useMay, useOperator } from '../api/operator.ts';
import type { LegalHold, List } from '../api/operator-types.ts';
import { useCountryNames, userQuery } from '../api/queries.ts';
import { heads } from '../shell/heads.ts';
import { Act } from '../ui/act.tsx';
import { Icon } from '../ui/icon.tsx';
import { ProblemNotice } from '../ui/notice.tsx';
import { Copy, Empty, Facts, Foreign, PageHead, Panel, Skeleton, Time } from '../ui/parts.tsx';
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
  if (error instanceof ProblemError && error.code === 'user_erased') {
    return (
      <>
        <PageHead title="Erased recipient" above={back} />
        <div className="stack">
          <Panel title="Details">
            <Empty icon="shield" title="The data of this recipient was erased">
              Names, details and images cannot be read any more. The payouts stay, without the
              person.
            </Empty>
          </Panel>
          <UserPayouts token={token} />
        </div>
      </>
    );
  }
  if (error !== null) {
    return (
      <>
        <PageHead {...heads.recipient} above={back} />
        <ProblemNotice error={error} retry={() => void refetch()} />
      </>
    );
  }
  return (
    <>
      <PageHead title={user === undefined ? 'Recipient' : nameUser(user)} above={back} />
      <div className="stack">
        {user === undefined ? <Skeleton height={190} /> : <Details user={user} />}
        <Compliance token={token} />
        <UserPayouts token={token} />
      </div>
    </>
  );
}

function Details({ user }: { user: User }): ReactNode {
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
      <Facts
        facts={[
          ...facts
            .filter(({ text }) => text !== '')
            .map(({ title, text }) => ({ title, value: <Foreign>{text}</Foreign> })),
          { title: 'Recipient', value: <Copy value={user.user_token} label="user token" /> },
          { title: 'Created', value: <Time value={user.created_on} /> },
        ]}
      />
    </Panel>
  );
}

/** What operators do about a recipient, besides paying. */
function Compliance({ token }: { token: string }): ReactNode {
  const mayOperate = useMay('operate');
  const mayComply = useMay('comply');
  return (
    <Panel title="Compliance">
      <div className="stack">
        <div className="row">
          <Link to="/identities/$user" params={{ user: token }} className="button">
            Identity
          </Link>
          <Link to="/screening" search={{ of: token }} className="button">
            Screening
          </Link>
          {mayOperate ? (
            <Act
              label="Freeze"
              title="Freeze this recipient"
              request={{ path: 'freezes/recipient', body: { user: token } }}
            >
              <p>The recipient is locked: quotes and commits are refused and nothing is sent.</p>
            </Act>
          ) : null}
          {mayComply ? <DataActs token={token} /> : null}
        </div>
        <HoldsInForce token={token} />
      </div>
    </Panel>
  );
}

/** Keeps the data, or ends it for ever. */
function DataActs({ token }: { token: string }): ReactNode {
  return (
    <>
      <Act
        label="Place a hold"
        title="Keep the data of this recipient"
        fields={[{ name: 'until', label: 'Until', type: 'date' }]}
        request={{ path: `recipients/${token}/holds` }}
      >
        <p>Until that day the data cannot be erased, whoever asks for it.</p>
      </Act>
      <Act
        label="Erase"
        tone="danger"
        title="Erase the data of this recipient for ever"
        request={{ path: `recipients/${token}/erasure` }}
      >
        <p>
          The key of the person is destroyed: names, details, images and messages cannot be read any
          more, in backups either. Payouts and the ledger stay. It can need two operators.
        </p>
      </Act>
    </>
  );
}

function HoldsInForce({ token }: { token: string }): ReactNode {
  const { data } = useOperator<List<LegalHold>>(`holds?user=${encodeURIComponent(token)}`);
  const holds = data?.data ?? [];
  return holds.map(({ hold, until, reason }) => (
    <p key={hold}>
      <Link to="/holds">Legal hold</Link> until <Time value={until} />: <Foreign>{reason}</Foreign>
    </p>
  ));
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
