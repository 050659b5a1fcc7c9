import type { ReactNode } from 'react';
import { useMay, useOperator } from '../api/operator.ts';
import type { SuspenseBalance, SuspenseList } from '../api/operator-types.ts';
import { useRecipientNames } from '../api/queries.ts';
import { formatCount, formatCountOf } from '../format/amount.ts';
import { heads } from '../shell/heads.ts';
import { PayoutLink, RecipientLink } from '../ui/account-link.tsx';
import { Act } from '../ui/act.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { More } from '../ui/more.tsx';
import { Amount, Empty, Foreign, PageHead, Panel, Tag, Time } from '../ui/parts.tsx';
import { actionsColumn, type Column, Table } from '../ui/table.tsx';

/** What payouts of all accounts left in suspense, until operators know whose it is. */
export function Suspense(): ReactNode {
  const asked = useOperator<SuspenseList>('suspense?limit=1000');
  return (
    <>
      <PageHead {...heads.suspense} />
      <Loaded query={asked}>
        {({ suspense, matching }) =>
          suspense.length === 0 ? (
            <Panel title="In suspense">
              <Empty icon="checkCircle" title="Nothing is in suspense">
                What came back in excess, and payments that were written off, appear here.
              </Empty>
            </Panel>
          ) : (
            <Balances rows={suspense} matching={matching} />
          )
        }
      </Loaded>
    </>
  );
}

type BalancesProps = { rows: readonly SuspenseBalance[]; matching: number };

function Balances({ rows, matching }: BalancesProps): ReactNode {
  return (
    <Panel
      title="In suspense"
      isFlush
      aside={<span className="small faint num">{formatCountOf(matching, 'payout')}</span>}
    >
      <More rows={rows}>{(shown) => <BalanceTable rows={shown} />}</More>
      {matching > rows.length ? (
        <p className="more faint">
          The latest {formatCount(rows.length)} are shown. Older ones follow when these are cleared.
        </p>
      ) : null}
    </Panel>
  );
}

function BalanceTable({ rows }: { rows: readonly SuspenseBalance[] }): ReactNode {
  const mayOperate = useMay('operate');
  const names = useRecipientNames(rows.map(({ account, user_token: user }) => ({ account, user })));
  const columns: Column<SuspenseBalance>[] = [
    { head: 'Account', kind: 'name', cell: (row) => <Foreign>{row.name}</Foreign> },
    {
      head: 'Recipient',
      kind: 'name',
      cell: ({ account, user_token: user }) => (
        <RecipientLink {...{ account, user, name: names.get(user) }} />
      ),
    },
    { head: 'Payout', cell: (row) => <LinkOf row={row} /> },
    { head: 'Since (UTC)', cell: (row) => <Time value={row.latest_at} /> },
    { head: 'Cause', cell: (row) => <Cause row={row} /> },
    {
      head: 'Amount',
      kind: 'right',
      cell: ({ amount, currency }) => <Amount value={amount} currency={currency} />,
    },
    actionsColumn((row) => (mayOperate ? <Clear row={row} /> : null)),
  ];
  return (
    <Table
      label="Table of suspense"
      columns={columns}
      rows={rows}
      keyOf={(row) => row.payout_token}
    />
  );
}

type RowProps = { row: SuspenseBalance };

function LinkOf({ row: { account, user_token: user, payout_token: payout } }: RowProps): ReactNode {
  return (
    <PayoutLink {...{ account, user, payout }}>
      <code>{payout.slice(-12)}</code>
    </PayoutLink>
  );
}

const isWrittenOff = ({ amount }: SuspenseBalance): boolean => amount.startsWith('-');

function Cause({ row }: RowProps): ReactNode {
  return isWrittenOff(row) ? (
    <Tag tone="danger">Written off</Tag>
  ) : (
    <Tag tone="warning">Came back in excess</Tag>
  );
}

/** The amount that clears all of it, to be changed where only a part is known. */
function negate({ amount }: SuspenseBalance): string {
  return amount.startsWith('-') ? amount.slice(1) : `-${amount}`;
}

function Clear({ row }: RowProps): ReactNode {
  const { currency, payout_token: payout } = row;
  return (
    <Act
      label="Clear"
      title="Clear an amount in suspense"
      fields={[
        {
          name: 'amount',
          label: `Amount (${currency})`,
          hint: isWrittenOff(row)
            ? 'Positive: what was recovered, or is borne'
            : 'Negative: what was sent back, or is kept',
          initial: negate(row),
        },
        { name: 'reference', label: 'Reference', hint: 'Of your books. Each is booked once' },
      ]}
      request={{ path: `payouts/${payout}/suspense-clearings`, body: { currency } }}
    >
      <p>
        It is booked between suspense and your own money outside, and the balance of the account
        stays as it is. If the amount belongs to the client, correct the balance by it too. It can
        need two operators.
      </p>
    </Act>
  );
}
