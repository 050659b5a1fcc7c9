import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { type Exact, formatAmount } from '../format/amount.ts';
import { formatTime, formatTimeSeconds, formatTimeShort, readTime } from '../format/time.ts';
import { splitUnseen } from '../format/unseen.ts';
import { describeStatus, shortenToken, type Tone } from '../format/words.ts';
import { Icon, type IconName } from './icon.tsx';

type Children = { children: ReactNode };

/** An exact amount with its currency: figures of equal width, the currency always in words. */
export function Amount({ value, currency }: { value: Exact; currency: string }): ReactNode {
  return (
    <span className="amount">
      {formatAmount(value, currency)}
      <span className="currency">{currency}</span>
    </span>
  );
}

/**
 * Text of others, isolated from the direction of what stands around it. Characters that cannot be seen, or
 * that turn the direction of those behind them, are marked: names that look alike must not be taken for
 * each other.
 */
export function Foreign({ children }: { children: string }): ReactNode {
  return (
    <bdi>
      {splitUnseen(children).map(({ text, code }, index) =>
        code === undefined ? (
          text
        ) : (
          <span key={index} className="unseen" title="A character that cannot be seen">
            {code}
          </span>
        ),
      )}
    </bdi>
  );
}

const toneIcons: Readonly<Record<string, IconName>> = {
  PENDING: 'quote',
  SCHEDULED: 'clock',
  PROCESSING: 'payout',
  HOLD: 'pause',
  ERROR: 'alert',
  READY_FOR_PICKUP: 'recipients',
  COMPLETED: 'check',
  CANCELLED: 'cancel',
};

export function PayoutStatus({ status }: { status: string }): ReactNode {
  const { label, tone, meaning } = describeStatus(status);
  return (
    <span className={`status ${tone}`} title={meaning}>
      <Icon name={toneIcons[status] ?? 'quote'} />
      {label}
    </span>
  );
}

type TagProps = Children & { tone?: Tone; icon?: IconName };

export function Tag({ tone = 'neutral', icon, children }: TagProps): ReactNode {
  return (
    <span className={`status ${tone}`}>
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </span>
  );
}

export function ActiveTag(): ReactNode {
  return (
    <Tag tone="success" icon="check">
      Active
    </Tag>
  );
}

type PanelProps = Children & { title: string; aside?: ReactNode; isFlush?: boolean };

export function Panel({ title, aside, isFlush = false, children }: PanelProps): ReactNode {
  return (
    <section className="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {isFlush ? children : <div className="body">{children}</div>}
    </section>
  );
}

/** `isForeign`: the name is a text of others. */
export type Fact = { title: string; value: ReactNode; isForeign?: boolean };

/** Names and values, one line each; on request with lines left out. */
export function Facts({ facts }: { facts: readonly (Fact | undefined)[] }): ReactNode {
  return (
    <dl className="facts">
      {facts.map((fact, index) =>
        fact === undefined ? null : (
          <div key={index} className="pair">
            <dt>{fact.isForeign === true ? <Foreign>{fact.title}</Foreign> : fact.title}</dt>
            <dd>{fact.value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

type HeadProps = { title: string; lead?: ReactNode; children?: ReactNode; above?: ReactNode };

export function PageHead({ title, lead, children, above }: HeadProps): ReactNode {
  return (
    <div className="page-head">
      <div>
        {above}
        <h1>{title}</h1>
        {lead === undefined ? null : <p>{lead}</p>}
      </div>
      {children === undefined ? null : <div className="row">{children}</div>}
    </div>
  );
}

type EmptyProps = { icon: IconName; title: string; children: ReactNode; action?: ReactNode };

/** Nothing to show: says why, and what to do. */
export function Empty({ icon, title, children, action }: EmptyProps): ReactNode {
  return (
    <div className="empty">
      <Icon name={icon} />
      <h2>{title}</h2>
      <p>{children}</p>
      {action === undefined ? null : <div className="row">{action}</div>}
    </div>
  );
}

/** Keeps the place of a text that is being loaded. */
export function Skeleton({
  width = '100%',
  height = 14,
}: {
  width?: string;
  height?: number;
}): ReactNode {
  return <span className="skeleton" style={{ width, height }} aria-hidden="true" />;
}

export function SkeletonRows({ rows, columns }: { rows: number; columns: number }): ReactNode {
  return Array.from({ length: rows }, (_row, row) => (
    <tr key={row}>
      {Array.from({ length: columns }, (_cell, column) => (
        <td key={column}>
          <Skeleton width={`${45 + ((row * 17 + column * 29) % 45)}%`} />
        </td>
      ))}
    </tr>
  ));
}

type TimeProps = { value: string; isExact?: boolean; isShort?: boolean };

export function Time({ value, isExact = false, isShort = false }: TimeProps): ReactNode {
  if (readTime(value) === undefined) return <span className="faint">—</span>;
  return (
    <time className="num" dateTime={value} title={`${formatTimeSeconds(value)} UTC`}>
      {isExact ? formatTimeSeconds(value) : isShort ? formatTimeShort(value) : formatTime(value)}
    </time>
  );
}

type CopyProps = { value: string; label: string; isWhole?: boolean; text?: string };

/** A token, shortened, that a click copies whole. */
export function Copy({ value, label, isWhole = false, text }: CopyProps): ReactNode {
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard.writeText(value).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1_500);
    });
  };
  return (
    <Button className="copy" onPress={copy}>
      <span className="visually-hidden">Copy {label}</span>
      <span
        className={isWhole ? 'mono whole' : 'mono clip'}
        title={text === undefined ? value : undefined}
      >
        {text ?? (isWhole ? value : shortenToken(value))}
      </span>
      <Icon name={isCopied ? 'check' : 'copy'} />
      <span className="visually-hidden" role="status">
        {isCopied ? 'Copied' : ''}
      </span>
    </Button>
  );
}
