import type { RailHost } from '../contract/contract.ts';
import type { Exchange } from './exchange.ts';
import type { SentFileGuard } from './sent-files.ts';

export type CheckParts = {
  readonly host: Pick<RailHost, 'countUnresolvedInbound'>;
  readonly openExchange: (signal: AbortSignal) => Promise<Exchange>;
  readonly guard: SentFileGuard;
};

const namesMax = 5;

/** Faults that keep the rail from working, and cases that wait for an operator. */
export async function checkExchange(
  signal: AbortSignal,
  { host, openExchange, guard }: CheckParts,
): Promise<readonly string[]> {
  const faults: string[] = [];
  try {
    await using exchange = await openExchange(signal);
    await exchange.inbox.list();
    const unknown = await guard.listUnknown(exchange);
    if (unknown.length > 0) {
      const names = listNames(unknown.map(({ messageId }) => messageId));
      faults.push(
        `nothing is sent: the database does not know ${unknown.length} payment files that left (${names}); ` +
          'it may have been restored to an earlier moment: recover its payments first',
      );
    }
    const quarantined = await exchange.quarantine.list();
    if (quarantined.length > 0) {
      // The rest of a name may be personal data.
      const names = listNames(quarantined.map(({ name }) => name.slice(0, labelLength)));
      faults.push(
        `the quarantine folder holds ${quarantined.length} files (${names}); remove each once it is dealt with`,
      );
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    faults.push(`the exchange with the bank does not work: ${error.message}`);
  }
  const unresolved = await host.countUnresolvedInbound();
  if (unresolved > 0) {
    faults.push(
      `${unresolved} inbound notifications or exceptions are not resolved (outlay admin exception list)`,
    );
  }
  return faults;
}

/** The hash that precedes the file's own name. */
const labelLength = 12;

function listNames(names: readonly string[]): string {
  const shown = names.slice(0, namesMax).join(', ');
  return names.length > namesMax ? `${shown}, ...` : shown;
}
