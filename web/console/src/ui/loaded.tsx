import type { ReactNode } from 'react';
import { ProblemNotice } from './notice.tsx';
import { Skeleton } from './parts.tsx';

type Asked<Data> = { data: Data | undefined; error: unknown; refetch: () => unknown };

type Props<Data> = {
  query: Asked<Data>;
  /** Of the place that is kept for it, in pixels. */
  height?: number;
  children: (data: Data) => ReactNode;
};

/** What was asked for; until then its place, and instead of it why there is none. */
export function Loaded<Data>({ query, height = 180, children }: Props<Data>): ReactNode {
  const { data, error, refetch } = query;
  if (data !== undefined) return children(data);
  if (error === null || error === undefined) return <Skeleton height={height} />;
  return <ProblemNotice error={error} retry={() => void refetch()} />;
}
