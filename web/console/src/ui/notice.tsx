import type { ReactNode } from 'react';
import { Button } from 'react-aria-components/Button';
import { ConnectionError, OutlayError, ProblemError } from '../../../../sdk/src/errors.ts';
import { readable, type Tone } from '../format/words.ts';
import { Icon, type IconName } from './icon.tsx';

type NoticeProps = { tone: Tone; title: string; icon?: IconName; children?: ReactNode };

export function Notice({ tone, title, icon = 'alert', children }: NoticeProps): ReactNode {
  return (
    <div className={`notice ${tone}`} role={tone === 'danger' ? 'alert' : undefined}>
      <Icon name={icon} />
      <div>
        <strong>{title}</strong>
        {children}
      </div>
    </div>
  );
}

/** What a person can do about a refusal, where the service's own sentence does not say it. */
const remedies: Readonly<Record<string, string>> = {
  payout_changed:
    'Your decision was not recorded. Close this, look at the payout again, and decide about what you see then.',
  own_payout:
    'You created or committed this payout, or uploaded or committed its batch. Another operator can release it; you can refund it.',
};

type Explained = { title: string; detail: string; code?: string; requestId?: string };

function explain(error: unknown): Explained {
  if (error instanceof ProblemError) {
    const { problem, requestId } = error;
    const faults = error.faults.map(({ detail }) => detail).join(' ');
    return {
      title: problem.title,
      detail: remedies[problem.code] ?? (faults || problem.detail),
      code: problem.code,
      requestId,
    };
  }
  if (error instanceof ConnectionError) {
    return { title: 'The service did not answer', detail: 'Check the connection.' };
  }
  const detail =
    error instanceof OutlayError || error instanceof Error ? error.message : String(error);
  return { title: 'This did not work', detail };
}

/** What went wrong, what to do, and the request to quote. */
export function ProblemNotice({ error, retry }: { error: unknown; retry?: () => void }): ReactNode {
  const { title, detail, code, requestId } = explain(error);
  return (
    <Notice tone="danger" title={title}>
      <p>{detail}</p>
      {error instanceof OutlayError && error.outcomeUnknown ? (
        <p>
          It may have been done all the same. Look before you do it again.
          {error.idempotencyKey === undefined ? '' : ' A payout that is sent again is paid once.'}
        </p>
      ) : null}
      <p className="small faint row">
        {code === undefined ? null : (
          <a href={`/problems/${encodeURIComponent(code)}`} target="_blank" rel="noreferrer">
            How to solve it: {readable(code).toLowerCase()}
          </a>
        )}
        {requestId === undefined || requestId === '' ? null : (
          <span>
            Request <code>{requestId}</code>
          </span>
        )}
      </p>
      {retry === undefined ? null : (
        <p>
          <Button className="button" onPress={retry}>
            Try again
          </Button>
        </p>
      )}
    </Notice>
  );
}
