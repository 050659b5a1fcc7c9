import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useMay, useOperator } from '../api/operator.ts';
import type { Exception, List } from '../api/operator-types.ts';
import { useAccountNames, useRecipientNames } from '../api/queries.ts';
import { formatCount } from '../format/amount.ts';
import { readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { PayoutLink, RecipientLink } from '../ui/account-link.tsx';
import { SelectField } from '../ui/field.tsx';
import { Loaded } from '../ui/loaded.tsx';
import {
  Amount,
  Empty,
  type Fact,
  Facts,
  Foreign,
  PageHead,
  Panel,
  Tag,
  Time,
} from '../ui/parts.tsx';
import { Together } from '../ui/together.tsx';
import { DecidePayout } from './exceptions/decisions.tsx';
import { countedMax, describeKind, payoutKinds } from './exceptions/kinds.ts';
import './payouts.css';

const rowsPerPage = 20;

/** Payouts that stand still until an operator decides. Inbound messages have a page of their own. */
export function Exceptions(): ReactNode {
  const [kind, setKind] = useState('');
  const [state, setState] = useState('open');
  const [cursor, setCursor] = useState('');
  const change = (set: (text: string) => void) => (text: string) => {
    set(text);
    setCursor('');
  };
  const given = {
    limit: String(rowsPerPage),
    kind,
    cursor,
    closed: state === 'closed' ? 'true' : '',
  };
  const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value !== ''));
  const asked = useOperator<List<Exception>>(`exceptions?${query.toString()}`);
  return (
    <>
      <PageHead {...heads.exceptions} />
      <Together>
        <div className="filters people-filters">
          <SelectField
            label="Kind"
            value={kind}
            onText={change(setKind)}
            choices={[
              { value: '', label: 'Any' },
              ...payoutKinds.map((value) => ({ value, label: readable(value) })),
            ]}
          />
          <SelectField
            label="State"
            value={state}
            onText={change(setState)}
            choices={[
              { value: 'open', label: 'Open' },
              { value: 'closed', label: 'Closed' },
            ]}
          />
        </div>
        <Loaded query={asked} height={200}>
          {({ data, matching = 0, next }) => (
            <>
              <Entries rows={data} state={state} />
              <nav className="row between" aria-label="Pages">
                <span className="small faint">
                  {formatCount(matching, countedMax)} in all, newest first
                </span>
                {next === null || next === undefined ? null : (
                  <Button className="button" onPress={() => setCursor(next)}>
                    Older
                  </Button>
                )}
              </nav>
            </>
          )}
        </Loaded>
      </Together>
    </>
  );
}

function Entries({ rows, state }: { rows: readonly Exception[]; state: string }): ReactNode {
  const names = useRecipientNames(
    rows.map(({ account_id: account, user_token: user }) => ({ account, user })),
  );
  if (rows.length === 0) {
    return (
      <Panel title={state === 'open' ? 'Open exceptions' : 'Closed exceptions'}>
        <Empty icon="checkCircle" title="Nothing waits for a decision">
          A payout comes here when its outcome is unknown, reports conflict, or it is held for
          review.
        </Empty>
      </Panel>
    );
  }
  return rows.map((exception) => (
    <Entry key={exception.id} exception={exception} name={names.get(exception.user_token)} />
  ));
}

type EntryProps = { exception: Exception; name: string | undefined };

function Entry({ exception, name }: EntryProps): ReactNode {
  const mayDecide = useMay('decide');
  const { closed_at: closedAt } = exception;
  return (
    <Panel
      title={readable(exception.kind)}
      aside={
        closedAt === null ? (
          <Tag tone="warning" icon="clock">
            Since <Time value={exception.opened_at} />
          </Tag>
        ) : (
          <Tag tone="success" icon="check">
            Closed <Time value={closedAt} />
          </Tag>
        )
      }
    >
      <div className="stack">
        <p className="soft">{describeKind(exception.kind)}</p>
        <ExceptionFacts exception={exception} name={name} />
        <Decided decisions={exception.decisions} />
        {exception.resolution === '' ? null : (
          <p className="small soft">
            Closed: <Foreign>{exception.resolution}</Foreign>
          </p>
        )}
        {exception.payout_token === '' && closedAt === null ? (
          <p>
            <Link to="/inbound" className="button">
              Go to the bank inputs
            </Link>
          </p>
        ) : null}
        {mayDecide && closedAt === null ? <DecidePayout exception={exception} /> : null}
      </div>
    </Panel>
  );
}

export function ExceptionFacts({ exception, name }: EntryProps): ReactNode {
  const { account_id: account, user_token: user, payout_token: payout } = exception;
  const nameAccount = useAccountNames([account]);
  const hasPayout = payout !== '' && user !== '';
  return (
    <Facts
      facts={[
        exception.amount === null || exception.currency === null
          ? undefined
          : {
              title: 'Amount',
              value: <Amount value={exception.amount} currency={exception.currency} />,
            },
        hasPayout
          ? { title: 'Recipient', value: <RecipientLink {...{ account, user, name }} /> }
          : undefined,
        hasPayout
          ? {
              title: 'Payout',
              value: <PayoutLink {...{ account, user, payout }}>{payout}</PayoutLink>,
            }
          : undefined,
        hasPayout
          ? { title: 'Account', value: <Foreign>{nameAccount(account)}</Foreign> }
          : undefined,
        { title: 'Rail', value: <code>{exception.rail}</code> },
        exception.detail === ''
          ? undefined
          : {
              title: exception.kind === 'approval' ? 'Rules' : 'Detail',
              value: <Foreign>{exception.detail}</Foreign>,
            },
        ...listApprovalFacts(exception),
      ]}
    />
  );
}

/** How many persons must release it, how many have, and until when. */
export function listApprovalFacts(exception: Exception): Fact[] {
  const { approvers, expires_at: expiresAt, decisions } = exception;
  if (approvers === null) return [];
  const releases = decisions.filter(({ action }) => action === 'release');
  const released = new Set(releases.map((decision) => decision.decided_by)).size;
  const approval = { title: 'Released by', value: `${released} of ${approvers} operators` };
  if (expiresAt === null) return [approval];
  return [approval, { title: 'Canceled unless released by', value: <Time value={expiresAt} /> }];
}

export function Decided({ decisions }: Pick<Exception, 'decisions'>): ReactNode {
  return decisions.map((decision) => (
    <p key={decision.decided_at} className="small soft">
      <strong>{readable(decision.action)}</strong> by <Foreign>{decision.decided_by}</Foreign>,{' '}
      <Time value={decision.decided_at} />: <Foreign>{decision.reason}</Foreign>
      {decision.is_effective ? '' : ' (waits for another operator)'}
    </p>
  ));
}
