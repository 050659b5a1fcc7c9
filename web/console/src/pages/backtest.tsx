import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useAct, useOperator } from '../api/operator.ts';
import type { Backtest, List, Rail } from '../api/operator-types.ts';
import { heads } from '../shell/heads.ts';
import { AccountField } from '../ui/account-field.tsx';
import { ProblemNotice } from '../ui/notice.tsx';
import { PageHead, Panel } from '../ui/parts.tsx';
import { ChangesFields } from './backtest/changes.tsx';
import { BacktestResult } from './backtest/result.tsx';
import { listFaults, readDocument } from './documents/document.ts';
import { PeriodField } from './documents/fields.tsx';

type Answered = { outcome: Backtest };

/** What an answer is of: the form may be changed meanwhile. */
type Asked = { text: string; days: string; account: string; part: number };

/** Replays past payouts with other fees, limits or routing. It changes nothing. */
export function Backtesting(): ReactNode {
  const { data: rails } = useOperator<List<Rail>>('rails');
  const [text, setText] = useState('{}');
  const [days, setDays] = useState('30');
  const [account, setAccount] = useState('');
  const [asked, setAsked] = useState<Asked>();
  const run = useAct<Answered>();
  const ask = (next: Asked, cursor: string | null): void => {
    const changes = readDocument(next.text);
    if (changes === undefined) return;
    const scope = next.account === '' ? {} : { account: next.account };
    const from = cursor === null ? {} : { cursor };
    setAsked(next);
    const body = { changes, days: next.days, ...scope, ...from };
    run.mutate({ path: 'routing/backtest', body });
  };
  return (
    <>
      <PageHead {...heads.backtest} />
      <div className="stack">
        <Panel title="Changes">
          <div className="stack">
            <ChangesFields
              text={text}
              rails={(rails?.data ?? []).map(({ rail }) => rail)}
              faults={asked?.text === text ? listFaults(run.error) : []}
              onText={setText}
            />
            <div className="row grow trial">
              <PeriodField label="Payouts of the last" days={days} onDays={setDays} />
              <AccountField
                label="Account"
                value={account}
                onText={setAccount}
                none="All accounts"
              />
              <Button
                className="button primary"
                isDisabled={readDocument(text) === undefined || run.isPending}
                onPress={() => ask({ text, days, account, part: 1 }, null)}
              >
                {run.isPending ? 'Replaying' : 'Replay the payouts'}
              </Button>
            </div>
            {run.error === null ? null : <ProblemNotice error={run.error} />}
          </div>
        </Panel>
        {run.data === undefined || asked === undefined ? null : (
          <Answer asked={asked} isStale={asked.text !== text} answer={run.data.outcome} ask={ask} />
        )}
      </div>
    </>
  );
}

type AnswerProps = {
  asked: Asked;
  /** The changes were edited since. */
  isStale: boolean;
  answer: Backtest;
  ask: (asked: Asked, cursor: string | null) => void;
};

function Answer({ asked, isStale, answer, ask }: AnswerProps): ReactNode {
  const { next } = answer;
  return (
    <section className="stack" aria-label="Result">
      {isStale ? (
        <p className="small soft">
          The changes were edited after the replay. Replay the payouts again.
        </p>
      ) : null}
      <BacktestResult result={answer} />
      {next === null && asked.part === 1 ? null : (
        <nav className="row between" aria-label="Pages">
          <span className="small faint">
            Part {asked.part}. Counts and amounts of the parts can be added; daily limits and mean
            charges are those of each part
          </span>
          <span className="row">
            {asked.part === 1 ? null : (
              <Button className="button" onPress={() => ask({ ...asked, part: 1 }, null)}>
                First part
              </Button>
            )}
            {next === null ? null : (
              <Button
                className="button"
                onPress={() => ask({ ...asked, part: asked.part + 1 }, next)}
              >
                Next part
              </Button>
            )}
          </span>
        </nav>
      )}
    </section>
  );
}
