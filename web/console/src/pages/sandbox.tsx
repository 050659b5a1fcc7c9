import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Label } from 'react-aria-components/Label';
import { Slider, SliderOutput, SliderThumb, SliderTrack } from 'react-aria-components/Slider';
import { decimal } from '../../../../sdk/src/decimal.ts';
import type { Payout } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { useMay } from '../api/operator.ts';
import { balancesQuery, useNames } from '../api/queries.ts';
import { describeAmountFault, readAmount } from '../format/amount.ts';
import { formatLength, formatTimeSeconds } from '../format/time.ts';
import { heads } from '../shell/heads.ts';
import { SelectField, TextField } from '../ui/field.tsx';
import { Loaded } from '../ui/loaded.tsx';
import { Notice, ProblemNotice } from '../ui/notice.tsx';
import { Amount, Empty, Foreign, PageHead, Panel, Skeleton } from '../ui/parts.tsx';
import { type Column, Table } from '../ui/table.tsx';
import { Together } from '../ui/together.tsx';
import { OutcomeButtons } from './payout-outcome.tsx';
import './payout.css';

/** Staging only: its clock, money that is not real, and what the simulated payers do. */
export function Sandbox(): ReactNode {
  const mayWrite = useMay('operate');
  return (
    <>
      <PageHead {...heads.sandbox} />
      {mayWrite ? (
        <Together>
          <Clock />
          <Fund />
          <Outcomes />
        </Together>
      ) : (
        <Notice tone="warning" title="Your role does not change the sandbox">
          <p>Ask an owner to give you the role of an operator.</p>
        </Notice>
      )}
    </>
  );
}

/** The newest payouts that a simulated payer has, each with what it can do next. */
function Outcomes(): ReactNode {
  const api = useApi();
  const asked = useQuery({
    queryKey: [api.account, 'payouts', 'in-flight'],
    queryFn: () => api.readPage<Payout>('/payout', { status: 'PROCESSING', number_of_records: 10 }),
    refetchInterval: 5_000,
  });
  const names = useNames(asked.data?.rows ?? []);
  const columns: Column<Payout>[] = [
    {
      head: 'Payout',
      kind: 'name',
      cell: ({ user_token: user, payout_token: payout, client_transfer_id: id }) => (
        <Link to="/payouts/$user/$payout" params={{ user, payout }} className="clip">
          <Foreign>{id}</Foreign>
        </Link>
      ),
    },
    {
      head: 'Recipient',
      kind: 'name',
      cell: ({ user_token: user }) => <Foreign>{names.get(user) ?? '…'}</Foreign>,
    },
    {
      head: 'Recipient gets',
      kind: 'right',
      cell: (payout) => (
        <Amount value={payout.destination_amount} currency={payout.destination_currency_code} />
      ),
    },
    { head: 'What the payer does next', cell: (payout) => <OutcomeButtons payout={payout} /> },
  ];
  return (
    <Panel title="Outcomes by one click" isFlush>
      <Loaded query={asked} height={120}>
        {({ rows }) =>
          rows.length === 0 ? (
            <Empty icon="flask" title="No payout is processing">
              Commit one: then the simulated payer pays it, rejects it or loses its answer when you
              say so.
            </Empty>
          ) : (
            <Table
              label="Payouts in flight"
              columns={columns}
              rows={rows}
              keyOf={({ payout_token: token }) => token}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}

/** Steps of the slider; short ones first, because most payers answer within minutes. */
const stepsSeconds = [0, 60, 600, 3600, 21_600, 86_400, 172_800, 604_800, 1_209_600, 2_592_000];

function Clock(): ReactNode {
  const api = useApi();
  const queries = useQueryClient();
  const [position, setPosition] = useState(0);
  const { data, error } = useQuery({
    queryKey: [api.account, 'clock'],
    queryFn: () => api.readSandboxClock(),
    refetchInterval: 5_000,
  });
  const move = useMutation({
    mutationFn: (seconds: number) => api.moveSandboxClock({ body: { advance_s: seconds } }),
    onSuccess: () => setPosition(0),
    onSettled: () => queries.invalidateQueries(),
  });
  const seconds = stepsSeconds[position] ?? 0;
  const target = new Date(Date.parse(data?.now ?? '') + seconds * 1000);
  return (
    <Panel title="Clock">
      {error === null ? null : <ProblemNotice error={error} />}
      {data === undefined ? (
        <Skeleton height={80} />
      ) : (
        <div className="stack">
          <Slider
            minValue={0}
            maxValue={stepsSeconds.length - 1}
            value={position}
            onChange={(value) => setPosition(value)}
            className="states"
          >
            <div className="row between">
              <Label>It is {formatTimeSeconds(data.now)} UTC in staging</Label>
              <SliderOutput className="num">
                {() => (seconds === 0 ? 'Move it forward' : `+ ${formatLength(seconds)}`)}
              </SliderOutput>
            </div>
            <SliderTrack className="track">
              <span
                className="fill"
                style={{ width: `${(position / (stepsSeconds.length - 1)) * 100}%` }}
              />
              <SliderThumb className="thumb" />
            </SliderTrack>
          </Slider>
          {move.error === null ? null : <ProblemNotice error={move.error} />}
          <div className="row">
            <Button
              className="button primary"
              isDisabled={seconds === 0 || move.isPending}
              onPress={() => move.mutate(seconds)}
            >
              {move.isPending ? 'Doing what falls due' : 'Move the clock'}
            </Button>
            <span className="small faint">
              {seconds === 0
                ? 'It moves forward only, for all accounts of staging'
                : `To ${formatTimeSeconds(target.toISOString())} UTC; everything due by then is done`}
            </span>
          </div>
        </div>
      )}
    </Panel>
  );
}

function Fund(): ReactNode {
  const api = useApi();
  const queries = useQueryClient();
  const { data: balances = [] } = useQuery(balancesQuery(api));
  const [currency, setCurrency] = useState('USD');
  const [text, setText] = useState('1000');
  const amount = readAmount(text);
  const fund = useMutation({
    mutationFn: (value: string) =>
      api.fundSandboxBalance({ body: { currency_code: currency, amount: decimal(value) } }),
    onSettled: () => queries.invalidateQueries({ queryKey: [api.account] }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (amount !== undefined) fund.mutate(amount);
  };
  return (
    <Panel title="Fund a balance">
      <form className="stack" onSubmit={submit}>
        <div className="fields">
          <SelectField
            label="Currency"
            value={currency}
            onText={setCurrency}
            choices={(balances.length === 0
              ? ['USD']
              : balances.map((entry) => entry.currency_code)
            ).map((value) => ({ value, label: value }))}
          />
          <TextField
            label="Amount"
            inputMode="decimal"
            value={text}
            onText={setText}
            fault={describeAmountFault(text)}
          />
        </div>
        {fund.error === null ? null : <ProblemNotice error={fund.error} />}
        <div className="row">
          <Button
            type="submit"
            className="button"
            isDisabled={fund.isPending || amount === undefined}
          >
            Fund
          </Button>
          <span role="status" className="small soft">
            {fund.isSuccess ? 'Funded' : ''}
          </span>
        </div>
      </form>
    </Panel>
  );
}
