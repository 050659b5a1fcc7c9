import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Payout } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { decisionQuery, keyOfPayout, type PayoutDecision } from '../api/payout-queries.ts';
import { formatLength, readTime } from '../format/time.ts';
import { describeStatus, nameActor, readable, type Tone } from '../format/words.ts';
import { Foreign, Panel, Tag, Time } from '../ui/parts.tsx';
import { type Chapter, nestStory } from './story.ts';

type Attempt = PayoutDecision['attempts'][number];
type Exception = PayoutDecision['exceptions'][number];

/** The states in order; the attempts and exceptions of a state are nested in it. */
export function PayoutStory({ payout }: { payout: Payout }): ReactNode {
  const { data } = useQuery(decisionQuery(useApi(), keyOfPayout(payout)));
  const { timeline } = payout;
  const chapters = data === undefined ? [] : nestStory(timeline, data);
  return (
    <Panel title="Timeline" aside={<Duration payout={payout} />}>
      <ol className="story">
        {timeline.map((entry, index) => {
          const { label, tone, meaning } = describeStatus(entry.status);
          return (
            <li key={`${entry.status}${entry.time}`} data-tone={tone}>
              <div className="row between">
                <strong>{label}</strong>
                <Time value={entry.time} isExact />
              </div>
              <p className="small faint">
                {entry.reason_code === '' ? meaning : readable(entry.reason_code)}
                {entry.actor === '' ? '' : ` · ${nameActor(entry.actor)} acts next`}
              </p>
              <Nested chapter={chapters[index]} />
            </li>
          );
        })}
      </ol>
    </Panel>
  );
}

function Duration({ payout }: { payout: Payout }): ReactNode {
  const from = readTime(payout.committed_at)?.getTime();
  const to = readTime(payout.completed_at)?.getTime();
  if (from === undefined || to === undefined) return null;
  return (
    <span className="small faint num">
      {formatLength((to - from) / 1000)} from commit to payment
    </span>
  );
}

function Nested({ chapter }: { chapter: Chapter | undefined }): ReactNode {
  const { attempts = [], exceptions = [] } = chapter ?? {};
  if (attempts.length === 0 && exceptions.length === 0) return null;
  return (
    <ol className="nested">
      {attempts.map((attempt) => (
        <AttemptEntry key={attempt.number} attempt={attempt} />
      ))}
      {exceptions.map((exception) => (
        <ExceptionEntry key={exception.opened_at + exception.kind} exception={exception} />
      ))}
    </ol>
  );
}

const attemptTones: Readonly<Record<string, Tone>> = {
  rejected: 'danger',
  failed: 'danger',
  unknown: 'warning',
  accepted: 'progress',
  sent: 'progress',
  completed: 'success',
  confirmed: 'success',
  paid: 'success',
};

function AttemptEntry({ attempt }: { attempt: Attempt }): ReactNode {
  return (
    <li>
      <div className="row between">
        <span className="row">
          <strong>Attempt {attempt.number}</strong>
          <Tag tone={attemptTones[attempt.state] ?? 'neutral'}>{readable(attempt.state)}</Tag>
        </span>
        <Time value={attempt.started_at} isExact />
      </div>
      <p className="small soft">
        Rail <code>{attempt.rail}</code>, payer <code>{attempt.payer_key}</code>
        {attempt.provider_reference === '' ? null : (
          <>
            , reference <code>{attempt.provider_reference}</code>
          </>
        )}
      </p>
      {attempt.reason === '' ? null : (
        <blockquote className="small">
          <Foreign>{attempt.reason}</Foreign>
        </blockquote>
      )}
      <p className="small faint">
        {attempt.answered_at === '' ? (
          'No final answer yet'
        ) : (
          <>
            Answered <Time value={attempt.answered_at} isExact />
          </>
        )}
      </p>
    </li>
  );
}

function ExceptionEntry({ exception }: { exception: Exception }): ReactNode {
  const isOpen = exception.closed_at === '';
  return (
    <li>
      <div className="row between">
        <span className="row">
          <strong>{readable(exception.kind)}</strong>
          <Tag tone={isOpen ? 'warning' : 'neutral'}>{isOpen ? 'Open' : 'Closed'}</Tag>
        </span>
        <Time value={exception.opened_at} isExact />
      </div>
      {isOpen ? null : (
        <p className="small soft">
          {readable(exception.resolution)}, <Time value={exception.closed_at} isExact />
        </p>
      )}
    </li>
  );
}
