import type { ReactNode } from 'react';
import { Facts, Foreign, Tag } from '../../ui/parts.tsx';
import { describeMembers, listHits, readMember } from './members.ts';

type Result = Readonly<Record<string, unknown>>;

/** Shown apart, or tokens that the page shows already. */
const apart = new Set(['hits', 'accountId', 'userId', 'payoutId', 'account_id', 'listVersions']);

/** One result: every hit with all that it says, then the lists and the threshold. */
export function Evidence({ screening }: { screening: Result }): ReactNode {
  const hits = listHits(screening);
  const rest = omit(screening, apart);
  const lists = { listVersions: screening['listVersions'] };
  return (
    <div className="stack">
      {hits.length === 0 ? (
        <p className="soft">No hits.</p>
      ) : (
        <ul className="stack">
          {hits.map((hit, index) => (
            <li key={`${readMember(hit, 'list')}${index}`} className="panel hit">
              <Hit hit={hit} />
            </li>
          ))}
        </ul>
      )}
      <details className="details">
        <summary>Result, threshold and lists</summary>
        <Lines of={{ ...rest, ...lists }} />
      </details>
    </div>
  );
}

const inHead = new Set(['name', 'scorePermille', 'score_permille', 'score']);

function omit(value: Result, names: ReadonlySet<string>): Result {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.has(name)));
}

function Hit({ hit }: { hit: Result }): ReactNode {
  const score = readMember(hit, 'scorePermille', 'score_permille', 'score');
  return (
    <>
      <p className="row between">
        <strong>
          <Foreign>{readMember(hit, 'name', 'entryId', 'entry')}</Foreign>
        </strong>
        {score === '' ? null : <Tag tone="danger">{score} of 1000</Tag>}
      </p>
      <Lines of={omit(hit, inHead)} />
    </>
  );
}

function Lines({ of }: { of: Result }): ReactNode {
  return (
    <Facts
      facts={describeMembers(of).map(({ name, text }) => ({
        title: name,
        value: <Foreign>{text}</Foreign>,
      }))}
    />
  );
}
