/** Faults of the database server, and of the connection to it. */

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

/** The driver's messages, without codes, for a connection that is lost or cannot be opened. */
const driverMessages =
  /^(?:Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed)/;

export function isLostConnection(error: unknown): boolean {
  return error instanceof Error && driverMessages.test(error.message);
}

/** Of faults that only an operator can end, by SQLSTATE: what to do, in words. */
export function findServerAdvice(state: string | undefined): string | undefined {
  return serverFaults.get(state ?? '')?.advice;
}

/** The same for a log, with the place of the steps. */
export function findLoggedAdvice(state: string | undefined): string | undefined {
  const fault = serverFaults.get(state ?? '');
  if (fault?.runbook === undefined) return fault?.advice;
  return `${fault.advice} (docs/guides/runbooks.md#${fault.runbook})`;
}
