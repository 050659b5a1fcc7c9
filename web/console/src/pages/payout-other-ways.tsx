import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { Payout, Schemas } from '../api/client.ts';
import type { PayoutDecision } from '../api/payout-queries.ts';
import { formatCount, formatRate } from '../format/amount.ts';
import { nameDelivery } from '../format/words.ts';
import { Network } from '../ui/network.tsx';
import { Amount, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { ProviderPrice } from './provider-price.tsx';

type OtherWay = Schemas['OtherWay'];

/** The cheapest come first, so that the others are of interest to few. */
const firstCount = 8;

type Props = { payout: Payout; decision: PayoutDecision };

/**
 * What the recipient would get from the other payers of the country, had details been given for them.
 * Nothing of it is drawn before it is unfolded.
 */
export function OtherWays({ payout, decision }: Props): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const { other_ways: ways, compared_at: comparedAt } = decision;
  if (ways.length === 0) return null;
  return (
    <details className="details other-ways" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span>
          Other ways to pay, at the prices of <Time value={comparedAt} />
        </span>
      </summary>
      {isOpen ? <Ways ways={ways} payout={payout} /> : null}
    </details>
  );
}

function Ways({ ways, payout }: { ways: readonly OtherWay[]; payout: Payout }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const { source_amount: amount, source_currency_code: currency } = payout;
  return (
    <>
      <p className="small faint">
        What <Amount value={amount} currency={currency} /> would become. A payout never changes to
        one of these by itself: the recipient would have to give other details.
      </p>
      <Table
        label="Other ways to pay"
        columns={listColumns(currency)}
        rows={isWhole ? ways : ways.slice(0, firstCount)}
        keyOf={(way) => way.destination_token + way.destination_currency_code}
      />
      {isWhole || ways.length <= firstCount ? null : (
        <div className="more">
          <Button className="button" onPress={() => setWhole(true)}>
            Show all {formatCount(ways.length)}
          </Button>
        </div>
      )}
    </>
  );
}

const listColumns = (currency: string): Column<OtherWay>[] => [
  {
    head: 'Payer',
    cell: (way) => (
      <>
        <span className="clip">{way.payer_name}</span>
        <span className="small faint">
          {way.company_name} · rail {way.health}
        </span>
      </>
    ),
  },
  {
    head: 'Delivery',
    cell: (way) => (
      <>
        <span className="clip">{nameDelivery(way.delivery_type)}</span>
        <span className="small faint">
          {way.destination_currency_code} <Network name={way.network} />
        </span>
      </>
    ),
  },
  { head: 'Recipient gets', kind: 'right', cell: (way) => <Gets way={way} /> },
  {
    head: 'Fee',
    kind: 'right',
    cell: ({ fee, provider_price: price }) => (
      <>
        {fee === '' ? '—' : <Amount value={fee} currency={currency} />}
        <ProviderPrice price={price} />
      </>
    ),
  },
  {
    head: 'Score',
    kind: 'right',
    cell: ({ score }) => (score === null ? '—' : String(score)),
  },
];

function Gets({ way }: { way: OtherWay }): ReactNode {
  if (way.destination_amount === '') return <span className="small faint why">{way.detail}</span>;
  return (
    <>
      <span className="clip">
        <Amount value={way.destination_amount} currency={way.destination_currency_code} />
      </span>
      <span className="small faint">at {formatRate(way.exchange_rate)}</span>
    </>
  );
}
