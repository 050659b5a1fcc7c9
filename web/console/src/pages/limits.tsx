import type { ReactNode } from 'react';
import { useSession } from '../api/context.tsx';
import { useMay, useOperator } from '../api/operator.ts';
import type { AccountLimit, List } from '../api/operator-types.ts';
import { formatCount } from '../format/amount.ts';
import { formatLength } from '../format/time.ts';
import { readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { Act, type ActField } from '../ui/act.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Amount, Empty, Foreign, PageHead, Panel } from '../ui/parts.tsx';
import { actionsColumn, type Column, Table } from '../ui/table.tsx';
import { Together } from '../ui/together.tsx';

/** Limits of the chosen account. A payout over one is held for a person. */
export function Limits(): ReactNode {
  const { account } = useSession();
  const mayOperate = useMay('operate');
  const asked = useOperator<List<AccountLimit>>(`accounts/${account}/limits`);
  return (
    <>
      <PageHead {...heads.limits}>{mayOperate ? <SetLimit label="Set a limit" /> : null}</PageHead>
      <Together>
        <Loaded query={asked}>
          {({ data }) => (
            <Panel title="Limits of payouts" isFlush>
              {data.length === 0 ? (
                <Empty icon="check" title="No limit of its own">
                  Limits of the whole service are in the file that OUTLAY_VELOCITY_LIMITS names.
                </Empty>
              ) : (
                <Table
                  label="Table of limits"
                  columns={mayOperate ? [...columns, actions] : columns}
                  rows={data}
                  keyOf={({ name }) => name}
                />
              )}
            </Panel>
          )}
        </Loaded>
        {mayOperate ? <OpenQuotes account={account} /> : null}
      </Together>
    </>
  );
}

const columns: readonly Column<AccountLimit>[] = [
  { head: 'Name', kind: 'name', cell: ({ name }) => <Foreign>{name}</Foreign> },
  { head: 'Of', cell: ({ per, corridor }) => corridor ?? readable(per) },
  {
    head: 'Within',
    cell: ({ per, hours }) => (per === 'payout' ? '—' : formatLength(hours * 3600)),
  },
  {
    head: 'Payouts',
    kind: 'right',
    cell: ({ count_max: count }) => (count === null ? 'Any' : formatCount(Number(count))),
  },
  {
    head: 'Value',
    kind: 'right',
    cell: ({ usd_max: usd }) => (usd === null ? 'Any' : <Amount value={usd} currency="USD" />),
  },
];

const actions = actionsColumn<AccountLimit>((limit) => (
  <div className="row end">
    <SetLimit label="Change" limit={limit} />
    <RemoveLimit name={limit.name} />
  </div>
));

const perChoices = [
  { value: 'account', label: 'The account' },
  { value: 'corridor', label: 'Each corridor' },
  { value: 'payout', label: 'One payout' },
];

function SetLimit({ label, limit }: { label: string; limit?: AccountLimit }): ReactNode {
  const { account } = useSession();
  const name: ActField = { name: 'name', label: 'Name', initial: '' };
  const fields: ActField[] = [
    {
      name: 'per',
      label: 'What it limits',
      initial: limit?.per ?? 'account',
      choices: perChoices,
    },
    {
      name: 'usd',
      label: 'Maximum amount, USD',
      isOptional: true,
      inputMode: 'decimal',
      initial: limit?.usd_max ?? '',
    },
    {
      name: 'count',
      label: 'Maximum number of payouts',
      isOptional: true,
      inputMode: 'numeric',
      initial: limit?.count_max ?? '',
      hint: 'A limit on the number needs a window, not a single payout',
    },
    {
      name: 'hours',
      label: 'Window, hours',
      isOptional: true,
      inputMode: 'numeric',
      initial: limit === undefined ? '24' : String(limit.hours),
    },
    {
      name: 'corridor',
      label: 'Only for this corridor',
      isOptional: true,
      initial: limit?.corridor ?? '',
      hint: 'Such as MEX BANK_DEPOSIT MXN',
    },
  ];
  return (
    <Act
      label={label}
      title={limit === undefined ? 'Set a limit' : `Change the limit ${limit.name}`}
      tone={limit === undefined ? 'primary' : 'plain'}
      fields={limit === undefined ? [name, ...fields] : fields}
      request={({ name: given = limit?.name ?? '', ...body }) => ({
        path: `accounts/${account}/limits/${encodeURIComponent(given)}`,
        method: 'PUT',
        body,
      })}
    >
      <p>It applies from the next check of a payout. Raising a limit can need two operators.</p>
    </Act>
  );
}

function RemoveLimit({ name }: { name: string }): ReactNode {
  const { account } = useSession();
  return (
    <Act
      label="Remove"
      title={`Remove the limit ${name}`}
      request={{ path: `accounts/${account}/limits/${encodeURIComponent(name)}/removal` }}
    >
      <p>It no longer holds payouts of the account. Removing it can need two operators.</p>
    </Act>
  );
}

function OpenQuotes({ account }: { account: string }): ReactNode {
  return (
    <Panel title="Open quotes">
      <div className="row between">
        <p className="soft">How many quotes, and of what value, may be open at the same time.</p>
        <Act
          label="Set limits of quotes"
          title="Set limits of open quotes"
          fields={[
            { name: 'open_quotes', label: 'Quotes', isOptional: true, inputMode: 'numeric' },
            {
              name: 'open_quotes_usd',
              label: 'Value, whole USD',
              isOptional: true,
              inputMode: 'numeric',
            },
          ]}
          request={{ path: `accounts/${account}`, method: 'PATCH' }}
        >
          <p>An empty field keeps the present value.</p>
        </Act>
      </div>
    </Panel>
  );
}
