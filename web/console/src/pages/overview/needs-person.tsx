import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { OverviewFigures } from '../../api/operator-types.ts';
import { formatCount } from '../../format/amount.ts';
import { Icon } from '../../ui/icon.tsx';

const kinds = [
  { name: 'exceptions', words: ['exception', 'exceptions', 'to decide'], to: '/exceptions' },
  { name: 'approvals', words: ['request', 'requests', 'to approve'], to: '/approvals' },
  { name: 'identities', words: ['identity', 'identities', 'to decide'], to: '/identities' },
  { name: 'freezes', words: ['stop or freeze', 'stops and freezes', ''], to: '/freezes' },
] as const;

type Props = { needs: OverviewFigures['needs'] | undefined };

/** Work that waits for a person, with links. */
export function NeedsPerson({ needs }: Props): ReactNode {
  const waiting = kinds.filter(({ name }) => (needs?.[name] ?? 0) > 0);
  const isQuiet = waiting.length === 0;
  return (
    <section className="panel needs" aria-label="Needs a person" aria-busy={needs === undefined}>
      <h2>
        <Icon name={isQuiet ? 'checkCircle' : 'alert'} />
        {needs === undefined
          ? 'Looking for what needs a person'
          : isQuiet
            ? 'Nothing needs a person now'
            : 'Needs a person'}
      </h2>
      {waiting.map(({ name, words: [one, many, what], to }) => {
        const count = needs?.[name] ?? 0;
        return (
          <Link key={name} to={to} className="waiting">
            <strong className="num">{formatCount(count)}</strong> {count === 1 ? one : many} {what}
          </Link>
        );
      })}
    </section>
  );
}
