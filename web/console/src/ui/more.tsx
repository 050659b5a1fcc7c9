import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import type { NextPage } from '../api/operator.ts';
import { formatCount } from '../format/amount.ts';
import { ProblemNotice } from './notice.tsx';

const step = 50;

type Props<Row> = {
  rows: readonly Row[];
  /** Reads further rows; undefined where these are all. */
  more?: NextPage | undefined;
  children: (shown: readonly Row[]) => ReactNode;
};

/** A long list grows on request: each row with a recipient asks for a name. */
export function More<Row>({ rows, more, children }: Props<Row>): ReactNode {
  const [count, setCount] = useState(step);
  const show = (): void => {
    setCount(count + step);
    if (count + step >= rows.length) more?.read();
  };
  return (
    <>
      {children(rows.slice(0, count))}
      {rows.length > count || more?.error === null ? (
        <div className="more">
          <Button className="button" onPress={show}>
            {more === undefined ? `Show more of ${formatCount(rows.length)}` : 'Show more'}
          </Button>
        </div>
      ) : null}
      {more === undefined || more.error === null ? null : (
        <div className="more">
          <ProblemNotice error={more.error} retry={more.read} />
        </div>
      )}
    </>
  );
}
