/** Faults of the database server that only an operator can end, by SQLSTATE. */

export const diskFull = '53100';

/** `runbook`: the section of docs/guides/runbooks.md that has the steps. */
type ServerFault = { readonly advice: string; readonly runbook?: string };

const serverFaults: ReadonlyMap<string, ServerFault> = new Map([
  [
    diskFull,
    { advice: 'free space on the disk of the database', runbook: 'outlaydatabasediskfull' },
  ],
  ['53200', { advice: 'give the database server more memory, or fewer connections' }],
  ['53300', { advice: 'the server has no free connection: raise max_connections' }],
  ['58030', { advice: 'the database server cannot read or write its disk: look at its log' }],
]);

/** What an operator can do, in words. */
export function findServerAdvice(state: string | undefined): string | undefined {
  return serverFaults.get(state ?? '')?.advice;
}

/** The same for a log, with the place of the steps. */
export function findLoggedAdvice(state: string | undefined): string | undefined {
  const fault = serverFaults.get(state ?? '');
  if (fault?.runbook === undefined) return fault?.advice;
  return `${fault.advice} (docs/guides/runbooks.md#${fault.runbook})`;
}
