import { type Query, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { Skeleton } from './parts.tsx';

const isFirst = (query: Query): boolean => query.state.data === undefined;

/** An answer can be the reason for another question, which is asked when it was drawn. */
const quietMs = 40;

/**
 * The parts of a page, one below the other. They appear when each has its first answer: one that came
 * later would move those below it.
 */
export function Together({ children }: { children: ReactNode }): ReactNode {
  const queries = useQueryClient();
  const [isThere, setThere] = useState(false);
  useEffect(() => {
    if (isThere) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (queries.isFetching({ predicate: isFirst }) === 0) setThere(true);
      }, quietMs);
    };
    look();
    const unsubscribe = queries.getQueryCache().subscribe(look);
    return () => {
      clearTimeout(timer);
      unsubscribe();
    };
  }, [queries, isThere]);
  return (
    <>
      {isThere ? null : <Skeleton height={380} />}
      <div className="stack" hidden={!isThere} aria-busy={!isThere}>
        {children}
      </div>
    </>
  );
}
