import { type ReactNode, useState } from 'react';
import { useSession } from '../api/context.tsx';
import { type NextPage, useMay, useOperator, useOperatorPages } from '../api/operator.ts';
import type { Freeze, List, Rail, Sending } from '../api/operator-types.ts';
import {
  useAccountNames,
  useCountryChoices,
  useCountryNames,
  useRecipientNames,
} from '../api/queries.ts';
import { formatCount } from '../format/amount.ts';
import { deliveryChoices, nameDelivery, readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { RecipientLink } from '../ui/account-link.tsx';
import { Act, type ActField } from '../ui/act.tsx';
import type { Choice } from '../ui/field.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { More } from '../ui/more.tsx';
import { Notice } from '../ui/notice.tsx';
import { Empty, Foreign, PageHead, Panel, Time } from '../ui/parts.tsx';
import { actionsColumn, type Column, Table } from '../ui/table.tsx';
import { Together } from '../ui/together.tsx';

/** The one switch that stops all sending, and freezes of a part. */
export function Freezes(): ReactNode {
  const mayOperate = useMay('operate');
  const [isWithLifted, setWithLifted] = useState(false);
  const { data: sending } = useOperator<Sending>('sending');
  const asked = useOperatorPages<Freeze>(isWithLifted ? 'freezes?all=true' : 'freezes');
  const isStopped = sending?.freezes.some(({ scope }) => scope === 'sending') === true;
  return (
    <>
      <PageHead {...heads.freezes}>
        {mayOperate && sending !== undefined ? <Switch isStopped={isStopped} /> : null}
      </PageHead>
      <Together>
        {isStopped ? <SendingStopped /> : null}
        <Loaded query={asked}>{({ data }) => <InForce rows={data} more={asked.more} />}</Loaded>
        <label className="row small">
          <input
            type="checkbox"
            checked={isWithLifted}
            onChange={({ target }) => setWithLifted(target.checked)}
          />
          Show those that were lifted
        </label>
        {mayOperate ? <NewFreezes /> : null}
      </Together>
    </>
  );
}

export function SendingStopped(): ReactNode {
  return (
    <Notice tone="danger" title="Sending is stopped" icon="pause">
      <p>No payout is sent to any payer. Commits are accepted, and their payouts wait.</p>
    </Notice>
  );
}

export function Switch({ isStopped }: { isStopped: boolean }): ReactNode {
  return isStopped ? (
    <Act
      label="Resume sending"
      tone="primary"
      title="Resume sending"
      request={{ path: 'sending/resume' }}
    >
      <p>Waiting payouts are sent, in the order of their commits.</p>
    </Act>
  ) : (
    <Act
      label="Stop sending"
      tone="danger"
      title="Stop sending on all rails"
      request={{ path: 'sending/stop' }}
    >
      <p>
        No new payout is sent to any payer. Payouts that payers already have continue and are
        reported.
      </p>
    </Act>
  );
}

type InForceProps = { rows: readonly Freeze[]; more: NextPage | undefined };

function InForce({ rows, more }: InForceProps): ReactNode {
  const mayOperate = useMay('operate');
  if (rows.length === 0) {
    return (
      <Panel title="In force">
        <Empty icon="checkCircle" title="Nothing is stopped">
          Stops of sending and freezes of rails, corridors, accounts and recipients appear here.
        </Empty>
      </Panel>
    );
  }
  return (
    <Panel title="In force" isFlush>
      <More rows={rows} more={more}>
        {(shown) => <FreezeTable rows={shown} mayLift={mayOperate} />}
      </More>
    </Panel>
  );
}

function FreezeTable({ rows, mayLift }: { rows: readonly Freeze[]; mayLift: boolean }): ReactNode {
  const columns: Column<Freeze>[] = [
    { head: 'What', kind: 'text', cell: (row) => <Scope freeze={row} /> },
    { head: 'Why', kind: 'text', cell: (row) => <Foreign>{row.reason}</Foreign> },
    { head: 'By', kind: 'name', cell: (row) => <Foreign>{row.frozen_by}</Foreign> },
    { head: 'Since (UTC)', cell: (row) => <Time value={row.since} /> },
    { head: 'Waiting', kind: 'right', cell: (row) => formatCount(row.waiting) },
    actionsColumn((row) => <Lift freeze={row} mayLift={mayLift} />),
  ];
  return <Table label="Table of freezes" columns={columns} rows={rows} keyOf={({ id }) => id} />;
}

function Lift({ freeze, mayLift }: { freeze: Freeze; mayLift: boolean }): ReactNode {
  const { id, scope, lifted_at: liftedAt, lifted_by: liftedBy = '' } = freeze;
  if (liftedAt !== undefined) {
    return (
      <span className="small faint">
        Lifted <Time value={liftedAt} /> by <Foreign>{liftedBy}</Foreign>
      </span>
    );
  }
  // Ended by their own switches.
  if (!mayLift || scope === 'sending' || scope === 'commits') return null;
  return (
    <Act
      label="Lift"
      title={`Lift the freeze: ${readable(scope)}`}
      request={{ path: `freezes/${id}/lift` }}
    >
      <p>Payouts that waited because of it are sent. It can need two operators.</p>
    </Act>
  );
}

function Scope({ freeze }: { freeze: Freeze }): ReactNode {
  const { account } = useSession();
  const countries = useCountryNames();
  const { scope, account_id: of = account, user_token: user = '', country, rail } = freeze;
  const nameAccount = useAccountNames(scope === 'account' ? [of] : []);
  const names = useRecipientNames(user === '' ? [] : [{ account: of, user }]);
  if (scope === 'rail') return <>Rail {rail}</>;
  if (scope === 'recipient') {
    return (
      <>
        Recipient <RecipientLink account={of} user={user} name={names.get(user)} />
      </>
    );
  }
  if (scope === 'account') {
    return (
      <>
        Account <Foreign>{nameAccount(of)}</Foreign>
      </>
    );
  }
  if (scope === 'corridor') {
    const { delivery_type: type, currency } = freeze;
    const parts = [type === undefined ? '' : nameDelivery(type), currency ?? ''];
    const rest = parts.filter((part) => part !== '').join(' in ');
    const place = countries.get(country ?? '') ?? country ?? '';
    return <>{rest === '' ? `Corridor ${place}` : `Corridor ${place}: ${rest}`}</>;
  }
  return <>{scope === 'sending' ? 'All sending' : 'All commits'}</>;
}

type NewFreeze = {
  scope: string;
  label: string;
  effect: string;
  fields: readonly ActField[];
};

/** What can be frozen, with what exists to choose from. */
function useNewFreezes(): NewFreeze[] {
  const { account } = useSession();
  const countries = useCountryChoices();
  const { data: rails } = useOperator<List<Rail>>('rails');
  const railChoices = (rails?.data ?? []).map(({ rail: value }) => ({ value, label: value }));
  return [
    {
      scope: 'rail',
      label: 'Freeze a rail',
      effect: 'No new payout is sent through it. Its payouts wait, or go through another payer.',
      fields: [
        { name: 'rail', label: 'Rail', initial: railChoices[0]?.value ?? '', choices: railChoices },
      ],
    },
    {
      scope: 'corridor',
      label: 'Freeze a corridor',
      effect: 'No payout is sent to this country, or in one delivery type or currency there.',
      fields: corridorFields(countries),
    },
    {
      scope: 'account',
      label: 'Freeze an account',
      effect: 'Commits are refused, and no payout of the account is sent.',
      fields: [{ name: 'account', label: 'Account', initial: account, isAccount: true }],
    },
    {
      scope: 'recipient',
      label: 'Freeze a recipient',
      effect: 'The recipient is locked: quotes and commits are refused and nothing is sent.',
      fields: [{ name: 'user', label: 'Token of the recipient', hint: 'usr_…' }],
    },
  ];
}

function corridorFields(countries: readonly Choice[]): ActField[] {
  return [
    {
      name: 'country',
      label: 'Country',
      initial: countries[0]?.value ?? '',
      choices: countries,
    },
    {
      name: 'delivery_type',
      label: 'Delivery',
      isOptional: true,
      choices: deliveryChoices,
    },
    { name: 'currency', label: 'Currency', isOptional: true, hint: 'Such as MXN' },
  ];
}

function NewFreezes(): ReactNode {
  const kinds = useNewFreezes();
  return (
    <Panel title="Freeze a part">
      <div className="row">
        {kinds.map(({ scope, label, effect, fields }) => (
          <Act
            key={scope}
            label={label}
            title={label}
            fields={fields}
            request={{ path: `freezes/${scope}` }}
          >
            <p>{effect} Payouts that payers already have continue.</p>
          </Act>
        ))}
      </div>
    </Panel>
  );
}
