import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Payout, Schemas } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { decisionQuery, keyOfPayout, type PayoutDecision } from '../api/payout-queries.ts';
import { formatRate } from '../format/amount.ts';
import { readable } from '../format/words.ts';
import { Network } from '../ui/network.tsx';
import { ProblemNotice } from '../ui/notice.tsx';
import { Amount, Panel, SkeletonRows, Tag, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { OtherWays } from './payout-other-ways.tsx';
import { ProviderPrice } from './provider-price.tsx';

type Candidate = Schemas['RouteCandidate'];

/** Which payers were compared, which one won, and why the others lost. */
export function PayoutRouting({ payout }: { payout: Payout }): ReactNode {
  const { data, error } = useQuery(decisionQuery(useApi(), keyOfPayout(payout)));
  if (error !== null) return <ProblemNotice error={error} />;
  return (
    <Panel title="Routing" isFlush>
      {data === undefined ? (
        <table className="table">
          <tbody>
            <SkeletonRows rows={2} columns={5} />
          </tbody>
        </table>
      ) : (
        <>
          {data.decisions.map((decision, index) => (
            <Decision
              key={`${decision.decided_at}-${index}`}
              decision={decision}
              number={index + 1}
              currency={payout.source_currency_code}
            />
          ))}
          <OtherWays payout={payout} decision={data} />
        </>
      )}
    </Panel>
  );
}

type DecisionProps = {
  decision: PayoutDecision['decisions'][number];
  number: number;
  currency: string;
};

function Decision({ decision, number, currency }: DecisionProps): ReactNode {
  const { decided_at: decidedAt, refused_because: why } = decision;
  return (
    <div>
      <p className="decision small faint">
        Decision {number}
        {decidedAt === '' ? ', nothing was sent yet' : ', '}
        {decidedAt === '' ? null : <Time value={decidedAt} isExact />}
        {why === '' ? '' : `, because: ${readable(why)}`}
      </p>
      <Candidates rows={decision.candidates} currency={currency} />
    </div>
  );
}

type CandidatesProps = { rows: readonly Candidate[]; currency: string };

function Candidates({ rows, currency }: CandidatesProps): ReactNode {
  const columns: Column<Candidate>[] = [
    {
      head: 'Payer',
      cell: (candidate) => (
        <>
          <span className="clip">{candidate.payer_name}</span>
          <span className="small faint">
            {candidate.company_name} · rail {candidate.health}
            {candidate.network === '' ? null : (
              <>
                {' '}
                · <Network name={candidate.network} />
              </>
            )}
          </span>
        </>
      ),
    },
    { head: 'Result', cell: (candidate) => <Result candidate={candidate} /> },
    {
      head: 'Cost',
      kind: 'right',
      cell: ({ cost, provider_price: price }) => (
        <>
          {cost === '' ? '—' : <Amount value={cost} currency={currency} />}
          <ProviderPrice price={price} />
        </>
      ),
    },
    { head: 'Rate', kind: 'right', cell: (candidate) => formatRate(candidate.exchange_rate) },
    {
      head: 'Score',
      kind: 'right',
      cell: ({ score }) => (score === null ? '—' : String(score)),
    },
  ];
  return (
    <Table
      label="Compared payers"
      columns={columns}
      rows={rows}
      keyOf={(candidate) => candidate.destination_token + candidate.company_name}
    />
  );
}

function Result({ candidate }: { candidate: Candidate }): ReactNode {
  if (candidate.is_chosen) {
    return (
      <Tag tone="success" icon="check">
        Chosen
      </Tag>
    );
  }
  const why = candidate.excluded_by === '' ? 'Lower score' : readable(candidate.excluded_by);
  return (
    <>
      <span>{why}</span>
      {candidate.detail === '' ? null : (
        <span className="small faint clip">{candidate.detail}</span>
      )}
    </>
  );
}
