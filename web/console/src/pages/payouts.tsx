import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { Payout, User } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { nameQuery, nameUser } from '../api/names.ts';
import { useMay } from '../api/operator.ts';
import { useCountryNames } from '../api/queries.ts';
import { formatCount } from '../format/amount.ts';
import { nameDelivery } from '../format/words.ts';
import { heads, payoutsPerPage } from '../shell/heads.ts';
import { Icon } from '../ui/icon.tsx';
import { NewPayoutLink } from '../ui/new-payout-link.tsx';
import { Notice, ProblemNotice } from '../ui/notice.tsx';
import { Amount, Empty, Foreign, PageHead, PayoutStatus, Skeleton, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { exportPayouts, exportRowsMax } from './payout-export.ts';
import { PayoutFilterBar } from './payout-filters.tsx';
import { isNameLike, type PayoutSearch, writePayoutFilters } from './payout-search.ts';
import './payouts.css';

/** One row per payout, the newest first. */
export function Payouts(): ReactNode {
  const api = useApi();
  const search = useSearch({ from: '/payouts' });
  const filters = writePayoutFilters(search);
  const { data, error, isPlaceholderData, refetch } = useQuery({
    queryKey: [api.account, 'payouts', filters, search.cursor],
    queryFn: () =>
      api.readPage<Payout>('/payout', {
        ...filters,
        number_of_records: payoutsPerPage,
        cursor: search.cursor,
      }),
    placeholderData: keepPreviousData,
    refetchInterval: search.cursor === undefined ? 10_000 : false,
  });
  const exported = useExport(filters);
  return (
    <>
      <PageHead {...heads.payouts}>
        {exported.button}
        <NewPayoutLink />
      </PageHead>
      <div className="stack">
        {exported.notice}
        <PayoutFilterBar search={search} />
        <NameMatches text={search.q ?? ''} />
        {error !== null && data === undefined ? (
          <ProblemNotice error={error} retry={() => void refetch()} />
        ) : (
          <section className="panel" aria-label="Payouts" aria-busy={isPlaceholderData}>
            <PayoutTable rows={data?.rows} />
            {data?.rows.length === 0 ? <NoPayouts search={search} /> : null}
          </section>
        )}
        <Pager search={search} next={data?.next} />
      </div>
    </>
  );
}

type Export = { button: ReactNode; notice: ReactNode };

function useExport(filters: ReturnType<typeof writePayoutFilters>): Export {
  const api = useApi();
  const [state, setState] = useState<'ready' | 'busy' | 'cut' | { error: unknown }>('ready');
  const save = (): void => {
    setState('busy');
    exportPayouts(api, filters).then(
      (isWhole) => setState(isWhole ? 'ready' : 'cut'),
      (error: unknown) => setState({ error }),
    );
  };
  const button = (
    <Button className="button" onPress={save} isDisabled={state === 'busy'}>
      <Icon name="download" />
      {state === 'busy' ? 'Exporting' : 'Export CSV'}
    </Button>
  );
  if (typeof state === 'object') {
    return { button, notice: <ProblemNotice error={state.error} retry={save} /> };
  }
  return { button, notice: state === 'cut' ? <ExportCut /> : null };
}

function ExportCut(): ReactNode {
  return (
    <Notice
      tone="warning"
      title={`The file has the newest ${formatCount(exportRowsMax)} payouts only`}
    >
      <p>
        This view has more. Narrow its filters and export each part, or read all payouts with the
        API or the command line.
      </p>
    </Notice>
  );
}

/** The list is not searched by names, so recipients whose name fits are offered as a filter. */
function NameMatches({ text }: { text: string }): ReactNode {
  const api = useApi();
  const { data } = useQuery({
    queryKey: [api.account, 'names', text],
    enabled: isNameLike(text),
    queryFn: () => api.readPage<User>('/user', { name: text, number_of_records: 6 }),
  });
  if (!isNameLike(text) || data === undefined || data.rows.length === 0) return null;
  return (
    <div className="row small">
      <span className="faint">Recipients with this name:</span>
      {data.rows.map((user) => (
        <Link
          key={user.user_token}
          to="/payouts"
          search={{ recipient: user.user_token }}
          className="button"
        >
          <Icon name="recipients" />
          <Foreign>{nameUser(user)}</Foreign>
        </Link>
      ))}
    </div>
  );
}

export function PayoutTable({ rows }: { rows: readonly Payout[] | undefined }): ReactNode {
  const countries = useCountryNames();
  const navigate = useNavigate();
  if (rows?.length === 0) return null;
  return (
    <Table
      label="Table of payouts"
      className="payouts"
      columns={listColumns(countries)}
      rows={rows}
      keyOf={({ payout_token: token }) => token}
      skeletonRows={12}
      onRow={(payout) => void navigate(targetOf(payout))}
    />
  );
}

const targetOf = ({ payout_token: payout, user_token: user }: Payout) =>
  ({ to: '/payouts/$user/$payout', params: { user, payout } }) as const;

/** Has a query of its own, so that a name that arrives draws one cell; they are asked for together. */
function RecipientName({ user }: { user: string }): ReactNode {
  const { data, isError } = useQuery(nameQuery(useApi(), user));
  return (
    <span className="clip">
      {data === undefined && !isError ? (
        <Skeleton width="110px" />
      ) : (
        <Foreign>{data ?? 'Name not available'}</Foreign>
      )}
    </span>
  );
}

type Names = ReadonlyMap<string, string>;

/** On a phone they are placed by their order (payouts.css). */
const listColumns = (countries: Names): Column<Payout>[] => [
  { head: 'Status', cell: (payout) => <PayoutStatus status={payout.status} /> },
  {
    head: 'Recipient',
    kind: 'name',
    cell: ({ user_token: user }) => <RecipientName user={user} />,
  },
  {
    head: 'Your identifier',
    kind: 'name',
    cell: (payout) => (
      <Link {...targetOf(payout)} className="clip" onClick={(event) => event.stopPropagation()}>
        <Foreign>{payout.client_transfer_id}</Foreign>
      </Link>
    ),
  },
  {
    head: 'Debited',
    kind: 'right',
    cell: (payout) => <Amount value={payout.total_debit} currency={payout.source_currency_code} />,
  },
  {
    head: 'Recipient gets',
    kind: 'right',
    cell: (payout) => (
      <Amount value={payout.destination_amount} currency={payout.destination_currency_code} />
    ),
  },
  {
    head: 'Destination',
    kind: 'name',
    cell: (payout) => (
      <span className="clip">
        {countries.get(payout.country_code) ?? payout.country_code}{' '}
        <span className="faint">· {nameDelivery(payout.delivery_type)}</span>
      </span>
    ),
  },
  {
    head: 'Time (UTC)',
    kind: 'right',
    cell: (payout) => <Time value={payout.committed_at || payout.created_at} isShort />,
  },
];

function NoPayouts({ search }: { search: PayoutSearch }): ReactNode {
  const isFiltered = Object.keys(search).length > 0;
  const mayWrite = useMay('operate');
  if (isFiltered) {
    return (
      <Empty
        icon="search"
        title="No payout matches"
        action={
          <Link to="/payouts" search={{}} className="button">
            Clear the filters
          </Link>
        }
      >
        The search finds a payout token, your whole client transfer id, or metadata as key=value.
        Names of recipients are offered above the list.
      </Empty>
    );
  }
  const pay = (
    <Link to="/pay" className="button primary">
      New payout
    </Link>
  );
  return (
    <Empty icon="payout" title="No payouts yet" action={mayWrite ? pay : undefined}>
      Quote and commit a payout here, or by POST /payout with an API key. It appears at once.
    </Empty>
  );
}

type PagerProps = { search: PayoutSearch; next: string | undefined };

function Pager({ search, next }: PagerProps): ReactNode {
  const { cursor, ...first } = search;
  if (cursor === undefined && next === undefined) return null;
  return (
    <nav className="row between" aria-label="Pages">
      {cursor === undefined ? (
        <span className="small faint">Newest {payoutsPerPage}</span>
      ) : (
        <Link to="/payouts" search={first} className="button">
          Newest
        </Link>
      )}
      {next === undefined ? null : (
        <Link to="/payouts" search={{ ...search, cursor: next }} className="button">
          Older
        </Link>
      )}
    </nav>
  );
}
