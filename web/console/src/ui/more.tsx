import { type ReactNode, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { formatCount } from '../format/amount.ts';

const step = 50;

type Props<Row> = { rows: readonly Row[]; children: (shown: readonly Row[]) => ReactNode };

/** A long list grows on request: each row with a recipient asks for a name. */
export function More<Row>({ rows, children }: Props<Row>): ReactNode {
  const [count, setCount] = useState(step);
  return (
    <>
      {children(rows.slice(0, count))}
      {rows.length > count ? (
        <div className="more">
          <Button className="button" onPress={() => setCount(count + step)}>
            Show more of {formatCount(rows.length)}
          </Button>
        </div>
      ) : null}
    </>
  );
}
