import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import type { Payout } from '../api/client.ts';
import { useApi, useSession } from '../api/context.tsx';
import { nameUser } from '../api/names.ts';
import { keyOfPayout, payoutEventsQuery, usePayoutPage } from '../api/payout-queries.ts';
import { useCountryNames, userQuery } from '../api/queries.ts';
import { formatPercent, formatRate } from '../format/amount.ts';
import { nameAttribute, nameDelivery, readable } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { Icon } from '../ui/icon.tsx';
import { Network } from '../ui/network.tsx';
import { Notice, ProblemNotice } from '../ui/notice.tsx';
import {
  Amount,
  Copy,
  Facts,
  Foreign,
  PageHead,
  Panel,
  PayoutStatus,
  Skeleton,
  Time,
} from '../ui/parts.tsx';
import { PayoutActions } from './payout-actions.tsx';
import { PayoutCharges } from './payout-charges.tsx';
import { OutcomePanel } from './payout-outcome.tsx';
import { PayoutRecords } from './payout-records.tsx';
import { PayoutRouting } from './payout-routing.tsx';
import { PayoutStory } from './payout-story.tsx';
import { describeWait } from './wait.ts';
import './payout.css';

const StateSlider = lazy(async () => ({
  default: (await import('./state-slider.tsx')).StateSlider,
}));

/** Asks for a decision, which few payouts need. */
const PayoutApproval = lazy(async () => ({
  default: (await import('./payout-approval.tsx')).PayoutApproval,
}));

/** Everything that the service knows about one payout, now and at each of its earlier states. */
export function PayoutPage(): ReactNode {
  const key = useParams({ from: '/payouts/$user/$payout' });
  const { data, error, refetch } = usePayoutPage(key);
  const [past, setPast] = useState<Payout | undefined>();
  if (error !== null && data === undefined) {
    return (
      <>
        <PageHead {...heads.payout} above={<Back />} />
        <ProblemNotice error={error} retry={() => void refetch()} />
      </>
    );
  }
  if (data === undefined) return <Loading />;
  return <Loaded payout={past ?? data} latest={data} onPast={setPast} />;
}

function Back(): ReactNode {
  return (
    <Link to="/payouts" className="crumb">
      <Icon name="back" />
      Payouts
    </Link>
  );
}

function Loading(): ReactNode {
  return (
    <div className="stack" aria-busy="true">
      <PageHead {...heads.payout} above={<Back />} />
      <Skeleton height={92} />
      <Skeleton height={320} />
    </div>
  );
}

type LoadedProps = {
  payout: Payout;
  latest: Payout;
  onPast: (payout: Payout | undefined) => void;
};

function Loaded({ payout, latest, onPast }: LoadedProps): ReactNode {
  const api = useApi();
  const { environment } = useSession().session;
  const { data: user } = useQuery(userQuery(api, latest.user_token));
  const name = user === undefined ? undefined : nameUser(user);
  return (
    <>
      <Header payout={payout} name={name}>
        <PayoutActions payout={latest} />
      </Header>
      <div className="stack">
        <States latest={latest} onPast={onPast} />
        <Wait payout={payout} />
        {payout === latest && latest.reason_code === 'needs_approval' ? (
          <Suspense>
            <PayoutApproval payout={latest.payout_token} />
          </Suspense>
        ) : null}
        <div className="payout-grid">
          <div className="stack">
            <PayoutStory payout={payout} />
            <PayoutRouting payout={latest} />
            <PayoutRecords payout={latest} />
          </div>
          <div className="stack">
            <Money payout={payout} />
            <PayoutCharges payout={latest} />
            <Recipient payout={payout} name={name} />
            <Identifiers payout={payout} />
            {environment === 'staging' ? <OutcomePanel payout={latest} /> : null}
          </div>
        </div>
      </div>
    </>
  );
}

type StatesProps = Pick<LoadedProps, 'latest' | 'onPast'>;

/** A payout with one state has no earlier one to go back to. */
function States({ latest, onPast }: StatesProps): ReactNode {
  const { data: events = [] } = useQuery(payoutEventsQuery(useApi(), keyOfPayout(latest)));
  if (events.length < 2) return null;
  return (
    <Suspense fallback={<Skeleton height={76} />}>
      <StateSlider latest={latest} events={events} onPast={onPast} />
    </Suspense>
  );
}

type HeaderProps = { payout: Payout; name: string | undefined; children: ReactNode };

function Header({ payout, name, children }: HeaderProps): ReactNode {
  return (
    <div className="page-head">
      <div>
        <Back />
        <div className="row payout-title">
          <h1>
            <Amount value={payout.destination_amount} currency={payout.destination_currency_code} />
          </h1>
          <PayoutStatus status={payout.status} />
        </div>
        <p>
          to {name === undefined ? <Skeleton width="120px" /> : <Foreign>{name}</Foreign>} ·{' '}
          {nameDelivery(payout.delivery_type)} by {payout.payer_name}
          {payout.network === '' ? null : (
            <>
              {' '}
              · <Network name={payout.network} />
            </>
          )}
        </p>
      </div>
      <div className="row">{children}</div>
    </div>
  );
}

/** Why it does not continue, and who has to act. Nothing for a payout that runs. */
function Wait({ payout }: { payout: Payout }): ReactNode {
  const wait = describeWait(payout);
  if (wait === undefined) return null;
  return (
    <Notice tone={wait.tone} title={wait.title} icon={wait.tone === 'danger' ? 'alert' : 'pause'}>
      {wait.reason === '' ? null : (
        <p>
          {payout.status_reason === '' ? null : (
            <>
              Recorded reason: <Foreign>{payout.status_reason}</Foreign>.{' '}
            </>
          )}
          {payout.reason_code === '' ? null : (
            <a href={`/problems/${payout.reason_code}`} target="_blank" rel="noreferrer">
              {readable(payout.reason_code)}: what it means
            </a>
          )}
        </p>
      )}
      {wait.actor === '' ? null : (
        <p className="soft">
          <strong className="inline">{wait.question}:</strong> {wait.actor}.
        </p>
      )}
      {payout.shortfall === undefined ? null : (
        <p>
          The balance lacks{' '}
          <Amount value={payout.shortfall.amount} currency={payout.shortfall.currency_code} />.
        </p>
      )}
    </Notice>
  );
}

function Money({ payout }: { payout: Payout }): ReactNode {
  const { source_currency_code: source, destination_currency_code: destination } = payout;
  return (
    <Panel title="Amounts">
      <dl className="facts money">
        <dt>Amount</dt>
        <dd>
          <Amount value={payout.source_amount} currency={source} />
        </dd>
        <dt>Fee</dt>
        <dd>
          <Amount value={payout.fee} currency={source} />
        </dd>
        <dt className="total">Debited</dt>
        <dd className="total">
          <Amount value={payout.total_debit} currency={source} />
        </dd>
        <dt>Rate</dt>
        <dd className="num">
          1 {source} = {formatRate(payout.exchange_rate)} {destination}
        </dd>
        <dt>Margin</dt>
        <dd className="num">
          {formatPercent(Number(payout.margin.toString()), 4)} of the mid rate
        </dd>
        <dt className="total">Recipient gets</dt>
        <dd className="total">
          <Amount value={payout.destination_amount} currency={destination} />
        </dd>
        {payout.refund === undefined ? null : (
          <>
            <dt>Given back</dt>
            <dd>
              <Amount value={payout.refund.amount} currency={payout.refund.currency_code} />
            </dd>
          </>
        )}
      </dl>
    </Panel>
  );
}

function Recipient({ payout, name }: { payout: Payout; name: string | undefined }): ReactNode {
  const countries = useCountryNames();
  const details = Object.entries(payout.attrs);
  return (
    <Panel title="Recipient">
      <Facts
        facts={[
          {
            title: 'Name',
            value: (
              <Link to="/payouts" search={{ recipient: payout.user_token }}>
                {name === undefined ? payout.user_token : <Foreign>{name}</Foreign>}
              </Link>
            ),
          },
          { title: 'Country', value: countries.get(payout.country_code) ?? payout.country_code },
          ...details.map(([type, value]) => ({
            title: nameAttribute(type, payout.attrs),
            value: <Foreign>{value}</Foreign>,
          })),
          payout.pickup_code === ''
            ? undefined
            : {
                title: 'Pickup code',
                value: <Copy value={payout.pickup_code} label="pickup code" isWhole />,
              },
          { title: 'Expected', value: <Time value={payout.estimated_availability} /> },
        ]}
      />
    </Panel>
  );
}

function Identifiers({ payout }: { payout: Payout }): ReactNode {
  const metadata = Object.entries(payout.metadata);
  return (
    <Panel title="Identifiers">
      <Facts
        facts={[
          {
            title: 'Payout',
            value: <Copy value={payout.payout_token} label="payout token" />,
          },
          { title: 'Yours', value: <Foreign>{payout.client_transfer_id}</Foreign> },
          {
            title: "Payer's",
            value:
              payout.rail_reference === '' ? (
                <span className="faint">None yet</span>
              ) : (
                <Copy value={payout.rail_reference} label="reference of the payer" />
              ),
          },
          ...metadata.map(([key, value]) => ({
            title: key,
            isForeign: true,
            value: <Foreign>{typeof value === 'string' ? value : JSON.stringify(value)}</Foreign>,
          })),
        ]}
      />
    </Panel>
  );
}
