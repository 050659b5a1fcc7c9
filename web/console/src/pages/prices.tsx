import { type ReactNode, useState } from 'react';
import { useOperator } from '../api/operator.ts';
import type { ExchangeRate, List, PayerTariffs, Tariff } from '../api/operator-types.ts';
import { useCountryChoices } from '../api/queries.ts';
import { formatCountOf, formatPercent, formatRate } from '../format/amount.ts';
import { deliveryChoices, nameDelivery } from '../format/words.ts';
import { heads } from '../shell/heads.ts';
import { SelectField, TextField } from '../ui/field.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Empty, Foreign, PageHead, Panel, Tag, Time } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Together } from '../ui/together.tsx';
import './payouts.css';

/** What payouts are priced from. Both are changed in files of the service, so here they are read. */
export function Prices(): ReactNode {
  return (
    <>
      <PageHead {...heads.prices} />
      <Together>
        <Tariffs />
        <Rates />
      </Together>
    </>
  );
}

function Tariffs(): ReactNode {
  const countries = useCountryChoices();
  const [chosen, setChosen] = useState('');
  const [delivery, setDelivery] = useState('');
  const country =
    chosen ||
    (countries.some(({ value }) => value === 'MEX') ? 'MEX' : (countries[0]?.value ?? ''));
  const query = new URLSearchParams({
    country,
    ...(delivery !== '' && { delivery_type: delivery }),
  });
  const asked = useOperator<List<PayerTariffs>>(`tariffs?${query.toString()}`, {
    isWanted: country !== '',
  });
  return (
    <>
      <div className="filters people-filters">
        <SelectField label="Country" value={country} onText={setChosen} choices={countries} />
        <SelectField
          label="Delivery"
          value={delivery}
          onText={setDelivery}
          choices={deliveryChoices}
        />
      </div>
      <Loaded query={asked}>{({ data }) => <TariffTable payers={data} />}</Loaded>
    </>
  );
}

type TariffRow = PayerTariffs & { tariff: Tariff; isNext: boolean };

const tariffColumns: readonly Column<TariffRow>[] = [
  {
    head: 'Payer',
    kind: 'name',
    cell: (row) => (
      <>
        <span className="clip">{row.payer_name}</span>
        <span className="small faint">
          {nameDelivery(row.delivery_type)} · <code>{row.rail}</code>
        </span>
      </>
    ),
  },
  { head: 'Pays out', cell: ({ currencies }) => currencies.join(', ') },
  {
    head: 'Holds',
    cell: ({ tariff, isNext }) =>
      isNext ? (
        <Tag tone="warning" icon="clock">
          From <Time value={tariff.effective_from ?? ''} />
        </Tag>
      ) : (
        'Now'
      ),
  },
  { head: 'Fee', cell: ({ tariff }) => <Fee tariff={tariff} /> },
  { head: 'Exchange', kind: 'right', cell: ({ tariff }) => <Exchange tariff={tariff} /> },
  { head: 'Limits (USD)', kind: 'right', cell: ({ tariff }) => <Limits tariff={tariff} /> },
];

function TariffTable({ payers }: { payers: readonly PayerTariffs[] }): ReactNode {
  const rows = payers.flatMap((payer): TariffRow[] =>
    payer.tariffs.map((tariff, index) => ({ ...payer, tariff, isNext: index > 0 })),
  );
  return (
    <Panel
      title="Tariffs"
      isFlush
      aside={<span className="small faint num">{formatCountOf(payers.length, 'payer')}</span>}
    >
      {rows.length === 0 ? (
        <Empty icon="search" title="No payer pays there in this way">
          Choose another delivery. Payers are declared in the file that OUTLAY_RAILS names.
        </Empty>
      ) : (
        <Table
          label="Table of tariffs"
          columns={tariffColumns}
          rows={rows}
          keyOf={(row) => `${row.rail} ${row.payer_key} ${row.tariff.effective_from ?? ''}`}
        />
      )}
    </Panel>
  );
}

function Fee({ tariff }: { tariff: Tariff }): ReactNode {
  return tariff.fee.map((step) => (
    <span key={step.up_to ?? ''} className="clip small num">
      {step.up_to === null ? 'Any amount' : `Up to ${formatRate(step.up_to)}`}: {describeFee(step)}
    </span>
  ));
}

function describeFee({ fixed, basis_points: points }: Tariff['fee'][number]): string {
  const share = formatPercent(points / 10_000, 2);
  const isFixed = /[1-9]/.test(fixed);
  if (points === 0) return isFixed ? `${formatRate(fixed)} USD` : 'free';
  return isFixed ? `${formatRate(fixed)} USD + ${share}` : share;
}

function Exchange({ tariff }: { tariff: Tariff }): ReactNode {
  if (tariff.agreed_rates.length > 0) {
    return tariff.agreed_rates.map(({ pair, rate }) => (
      <span key={pair} className="clip small num">
        {pair} {formatRate(rate)}
      </span>
    ));
  }
  return (
    <span className="num">
      {tariff.margin_basis_points === 0
        ? 'Mid rate'
        : `Mid rate − ${formatPercent(tariff.margin_basis_points / 10_000, 2)}`}
    </span>
  );
}

function Limits({ tariff }: { tariff: Tariff }): ReactNode {
  const { min_limit: min, max_limit: max } = tariff;
  const most = /[1-9]/.test(max) ? formatRate(max) : 'any';
  return <span className="num">{`${formatRate(min)} to ${most}`}</span>;
}

const rateColumns: readonly Column<ExchangeRate>[] = [
  {
    head: 'Pair',
    cell: ({ base, quote }) => (
      <strong>
        {base}/{quote}
      </strong>
    ),
  },
  {
    head: 'Rate',
    kind: 'right',
    cell: ({ rate }) => <span className="num">{formatRate(rate)}</span>,
  },
  { head: 'Source', cell: ({ source }) => <Foreign>{source}</Foreign> },
  { head: 'As of (UTC)', cell: (row) => <Time value={row.as_of} /> },
  {
    head: 'Used until (UTC)',
    cell: (row) =>
      row.expires_at === null ? (
        <span className="faint">No end in staging</span>
      ) : (
        <>
          <Time value={row.expires_at} />{' '}
          {row.is_usable ? null : (
            <Tag tone="danger" icon="alert">
              Stale
            </Tag>
          )}
        </>
      ),
  },
];

function Rates(): ReactNode {
  const asked = useOperator<List<ExchangeRate>>('rates');
  const [text, setText] = useState('');
  const wanted = text.trim().toUpperCase();
  return (
    <>
      <div className="choose">
        <TextField
          label="Currency"
          type="search"
          placeholder="MXN"
          maxLength={5}
          autoComplete="off"
          value={text}
          onText={setText}
        />
      </div>
      <Loaded query={asked}>
        {({ data }) => {
          const rows = data.filter(
            ({ base, quote }) => base.includes(wanted) || quote.includes(wanted),
          );
          return (
            <Panel
              title="Exchange rates"
              isFlush
              aside={<span className="small faint num">{formatCountOf(rows.length, 'pair')}</span>}
            >
              <Table
                label="Table of exchange rates"
                columns={rateColumns}
                rows={rows}
                keyOf={(row) => `${row.base}${row.quote}${row.source}`}
              />
            </Panel>
          );
        }}
      </Loaded>
    </>
  );
}
