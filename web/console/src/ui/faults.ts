import { ProblemError } from '../../../../sdk/src/errors.ts';

/** The sentence about one field of a refused request; undefined where it is not at fault. */
export function findFault(error: unknown, name: string): string | undefined {
  if (!(error instanceof ProblemError)) return undefined;
  const fault = error.faults.find((entry) => {
    const { pointer = '', parameter = '', token = '' } = entry as Partial<Record<string, string>>;
    return pointer === `/${name}` || parameter === name || token === name;
  });
  return fault?.detail;
}
