import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import type { User } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { nameUser } from '../api/names.ts';
import { useCountryChoices, useCountryNames } from '../api/queries.ts';
import { heads } from '../shell/heads.ts';
import { SelectField, TextField } from '../ui/field.tsx';
import { ProblemNotice } from '../ui/notice.tsx';
import { ActiveTag, Empty, Foreign, PageHead, Tag, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { type RecipientSearch, writeRecipientFilters } from './recipient-search.ts';
import './payouts.css';

const rowsPerPage = 25;

export function Recipients(): ReactNode {
  const api = useApi();
  const search = useSearch({ from: '/recipients' });
  const filters = writeRecipientFilters(search);
  const cursor = search.cursor === undefined ? {} : { cursor: search.cursor };
  const { data, error, refetch } = useQuery({
    queryKey: [api.account, 'recipient-list', filters, cursor],
    queryFn: () =>
      api.readPage<User>('/user', { ...filters, ...cursor, number_of_records: rowsPerPage }),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <PageHead {...heads.recipients} />
      <div className="stack">
        <Filters key={search.q ?? ''} search={search} />
        {error !== null && data === undefined ? (
          <ProblemNotice error={error} retry={() => void refetch()} />
        ) : (
          <section className="panel" aria-label="Recipients">
            {data?.rows.length === 0 ? (
              <Empty icon="recipients" title="No recipient matches">
                Search three letters or more of a name, or a whole email address. A new recipient is
                created with a new payout, or by POST /user.
              </Empty>
            ) : (
              <UserTable users={data?.rows} />
            )}
          </section>
        )}
        {data?.next === undefined ? null : (
          <nav className="row" aria-label="Pages">
            <Link to="/recipients" search={{ ...search, cursor: data.next }} className="button">
              Older
            </Link>
          </nav>
        )}
      </div>
    </>
  );
}

function Filters({ search }: { search: RecipientSearch }): ReactNode {
  const navigate = useNavigate();
  const countries = useCountryChoices();
  const [text, setText] = useState(search.q ?? '');
  const set = (change: RecipientSearch): void => {
    const { cursor: _cursor, ...kept } = { ...search, ...change };
    const present = Object.entries(kept).filter(([, value]) => value !== '');
    void navigate({ to: '/recipients', search: Object.fromEntries(present) });
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    set({ q: text.trim() });
  };
  return (
    <div className="filters people-filters">
      <form role="search" onSubmit={submit}>
        <TextField
          label="Search"
          type="search"
          placeholder="Part of a name, or an email address"
          maxLength={100}
          value={text}
          onText={setText}
        />
      </form>
      <SelectField
        label="Country"
        value={search.country ?? ''}
        onText={(country) => set({ country })}
        choices={[{ value: '', label: 'Any' }, ...countries]}
      />
    </div>
  );
}

function UserTable({ users }: { users: readonly User[] | undefined }): ReactNode {
  const countries = useCountryNames();
  const navigate = useNavigate();
  const targetOf = ({ user_token: user }: User) =>
    ({ to: '/recipients/$user', params: { user } }) as const;
  const columns: Column<User>[] = [
    {
      head: 'Name',
      kind: 'name',
      cell: (user) => (
        <Link {...targetOf(user)} className="clip" onClick={(event) => event.stopPropagation()}>
          <Foreign>{nameUser(user)}</Foreign>
        </Link>
      ),
    },
    { head: 'Email', kind: 'name', cell: ({ email }) => <Clipped text={email} /> },
    {
      head: 'Your identifier',
      kind: 'name',
      cell: ({ internal_user_id: id }) => <Clipped text={id} />,
    },
    { head: 'Country', cell: ({ country }) => countries.get(country) ?? country },
    { head: 'Status', cell: ({ status }) => <UserStatus status={status} /> },
    { head: 'Created (UTC)', kind: 'right', cell: (user) => <Time value={user.created_on} /> },
  ];
  return (
    <Table
      label="Table of recipients"
      columns={columns}
      rows={users}
      keyOf={({ user_token: token }) => token}
      skeletonRows={10}
      onRow={(user) => void navigate(targetOf(user))}
    />
  );
}

function Clipped({ text }: { text: string }): ReactNode {
  return (
    <span className="clip">
      <Foreign>{text}</Foreign>
    </span>
  );
}

export function UserStatus({ status }: { status: string }): ReactNode {
  if (status === 'ACTIVE') {
    return <ActiveTag />;
  }
  return status === 'LOCKED' ? (
    <Tag tone="warning" icon="pause">
      Locked
    </Tag>
  ) : (
    <Tag icon="cancel">Deactivated</Tag>
  );
}
