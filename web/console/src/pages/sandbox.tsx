import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { Label } from 'react-aria-components/Label';
import { Slider, SliderOutput, SliderThumb, SliderTrack } from 'react-aria-components/Slider';
import { decimal } from '../../../../sdk/src/decimal.ts';
import { useApi, useMayWrite } from '../api/context.tsx';
import { balancesQuery } from '../api/queries.ts';
import { readAmount } from '../format/amount.ts';
import { formatLength, formatTimeSeconds } from '../format/time.ts';
import { SelectField, TextField } from '../ui/field.tsx';
import { Notice, ProblemNotice } from '../ui/notice.tsx';
import { PageHead, Panel, Skeleton } from '../ui/parts.tsx';
import './payout.css';

/** Staging only: its clock, and money that is not real. Outcomes are on the page of each payout. */
export function Sandbox(): ReactNode {
  const mayWrite = useMayWrite();
  return (
    <>
      <PageHead title="Sandbox" lead="Nothing here moves real money" />
      {mayWrite ? (
        <div className="stack">
          <Clock />
          <Fund />
          <Notice tone="neutral" icon="flask" title="Outcomes by one click">
            <p>
              Open a payout that is processing: the simulated payer pays it, rejects it or loses its
              answer when you say so.
            </p>
          </Notice>
        </div>
      ) : (
        <Notice tone="warning" title="Your role does not change the sandbox">
          <p>Ask an owner for the role of an operator.</p>
        </Notice>
      )}
    </>
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
            fault={amount === undefined ? 'Enter an amount above zero' : undefined}
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
