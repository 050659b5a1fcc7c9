import { useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useMay, useOperator, useOperatorPages } from '../api/operator.ts';
import type { Exception, List, Screenings } from '../api/operator-types.ts';
import { useRecipientNames } from '../api/queries.ts';
import { heads } from '../shell/heads.ts';
import { Act } from '../ui/act.tsx';
import { TextField } from '../ui/field.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { More } from '../ui/more.tsx';
import { Empty, PageHead, Panel, Tag, Time } from '../ui/parts.tsx';
import { Together } from '../ui/together.tsx';
import { DecidePayout } from './exceptions/decisions.tsx';
import { ExceptionFacts } from './exceptions.tsx';
import { Clearances, ClearUntil } from './screening/clearances.tsx';
import { Evidence } from './screening/evidence.tsx';
import { readMember } from './screening/members.ts';
import { Waiting } from './screening/waiting.tsx';

/** Payouts that a sanctions list holds, with the evidence; and what is known of any recipient. */
export function Screening(): ReactNode {
  const { of } = useSearch({ from: '/screening' });
  const asked = useOperatorPages<Exception>('exceptions?kind=screening&limit=50');
  return (
    <>
      <PageHead {...heads.screening} />
      <Together>
        <LookUp key={of ?? ''} of={of ?? ''} />
        {of === undefined ? (
          <>
            <Loaded query={asked}>
              {({ data }) => (
                <More rows={data} more={asked.more}>
                  {(shown) => <Hits rows={shown} />}
                </More>
              )}
            </Loaded>
            <Waiting />
            <Clearances />
          </>
        ) : (
          <Subject of={of} />
        )}
      </Together>
    </>
  );
}

function LookUp({ of }: { of: string }): ReactNode {
  const navigate = useNavigate();
  const [text, setText] = useState(of);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const token = text.trim();
    void navigate({ to: '/screening', search: token === '' ? {} : { of: token } });
  };
  return (
    <form role="search" onSubmit={submit} className="row grow">
      <TextField
        label="A recipient or a payout"
        type="search"
        placeholder="Its token: usr_… or payout_…"
        maxLength={100}
        value={text}
        onText={setText}
      />
      <Button type="submit" className="button">
        Look up
      </Button>
    </form>
  );
}

function Hits({ rows }: { rows: readonly Exception[] }): ReactNode {
  const mayDecide = useMay('decide');
  const names = useRecipientNames(
    rows.map(({ account_id: account, user_token: user }) => ({ account, user })),
  );
  if (rows.length === 0) {
    return (
      <Panel title="Open hits">
        <Empty icon="checkCircle" title="No hit waits">
          A payout comes here when its recipient, a name in its details or its wallet is on a
          configured sanctions list.
        </Empty>
      </Panel>
    );
  }
  return rows.map((row) => (
    <Panel
      key={row.id}
      title={`Hit: ${names.get(row.user_token) ?? 'recipient'}`}
      aside={
        <Tag tone="warning" icon="clock">
          Since <Time value={row.opened_at} />
        </Tag>
      }
    >
      <div className="stack">
        <ExceptionFacts exception={row} name={names.get(row.user_token)} />
        <Results title="The payment" query={{ payout: row.payout_token }} />
        {row.user_token === '' ? null : (
          <Results title="The recipient" query={{ user: row.user_token }} />
        )}
        <div className="row">
          {mayDecide ? <DecidePayout exception={row} /> : null}
          <DecideHits query={{ user: row.user_token }} about="the recipient" />
        </div>
      </div>
    </Panel>
  ));
}

type Query = Readonly<Record<string, string>>;

function Results({ title, query }: { title: string; query: Query }): ReactNode {
  const asked = useOperator<Screenings>(`screenings?${new URLSearchParams(query).toString()}`);
  return (
    <section className="stack" aria-label={title}>
      <h3>{title}</h3>
      <Loaded query={asked} height={60}>
        {({ screenings }) =>
          screenings.length === 0 ? (
            <p className="soft">Never screened.</p>
          ) : (
            screenings.map((screening, index) => (
              <Evidence
                key={readMember(screening, 'sequence') || String(index)}
                screening={screening}
              />
            ))
          )
        }
      </Loaded>
    </section>
  );
}

/** What was found about one recipient or payout, and the decision about it. */
function Subject({ of }: { of: string }): ReactNode {
  const isPayout = of.startsWith('payout_');
  const query: Query = isPayout ? { payout: of } : { user: of };
  return (
    <>
      <Panel title={isPayout ? 'A payout' : 'A recipient'}>
        <div className="stack">
          <Results title="Results, newest first" query={query} />
          <DecideHits query={query} about={isPayout ? 'the payout' : 'the recipient'} />
        </div>
      </Panel>
      {isPayout ? null : <Clearances user={of} />}
    </>
  );
}

function DecideHits({ query, about }: { query: Query; about: string }): ReactNode {
  const mayComply = useMay('comply');
  const seen = useSeen(query);
  if (!mayComply || seen === undefined || Object.values(query).includes('')) return null;
  return (
    <div className="row">
      {query['user'] === undefined ? null : <ClearUntil user={query['user']} />}
      <Act
        label={`Clear ${about}`}
        title={`Clear ${about}`}
        request={{ path: 'screenings/decision', body: { ...query, ...seen, decision: 'cleared' } }}
      >
        <p>The recipient is not the listed party. This holds until something new is found.</p>
      </Act>
      <Act
        label={`Confirm ${about}`}
        title={`Confirm ${about}`}
        tone="danger"
        request={{
          path: 'screenings/decision',
          body: { ...query, ...seen, decision: 'confirmed' },
        }}
      >
        <p>
          The recipient is the listed party. Payouts to a confirmed recipient are held permanently.
        </p>
      </Act>
    </div>
  );
}

/** What the decision is about: the newest result of a recipient, or the version of a payout. */
function useSeen({ user = '', payout = '' }: Query): Query | undefined {
  const results = useOperator<Screenings>(
    `screenings?${new URLSearchParams({ user }).toString()}`,
    {
      isWanted: user !== '',
    },
  );
  const open = useOperator<List<Exception>>(`exceptions?kind=screening&payout=${payout}`, {
    isWanted: payout !== '',
  });
  const result = readMember(results.data?.screenings[0] ?? {}, 'sequence');
  if (user !== '') return result === '' ? undefined : { result };
  const version = open.data?.data[0]?.payout_version;
  return version === undefined ? undefined : { payout_version: version };
}
