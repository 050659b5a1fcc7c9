import type { InboundProblem, RailHost } from '../contract/contract.ts';
import { reportProblem } from './problem-messages.ts';

export type MissingReport = Omit<InboundProblem, 'kind'>;

/**
 * Opens an exception about a report that a counterparty owes, once for each id, and logs it. The message
 * is the rail's own, since nothing has come.
 */
export async function reportMissing(
  host: Pick<RailHost, 'receive' | 'log'>,
  { id, detail, ...money }: MissingReport,
): Promise<void> {
  const problem = { id, kind: 'report_missing', detail, ...money } as const;
  if ((await reportProblem(host, problem, detail)) === 'new')
    host.log('error', 'reports of the counterparty are missing', { problem: id });
}
