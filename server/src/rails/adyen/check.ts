import type { CallContext } from '../contract/contract.ts';
import type { ApiResult } from './http-client.ts';
import type { Setup } from './transfers.ts';
import { balanceAccountSchema } from './wire.ts';

/** Faults of the setup that calls to Adyen show, for `outlay admin doctor`. */

const clockFaultS = 30;
const hourMs = 3_600_000;

export async function checkSetup(
  { api, host, config }: Setup,
  { signal }: CallContext,
): Promise<readonly string[]> {
  const nowMs = host.realNowMs();
  const page = await api.listTransfers(
    { createdSinceMs: nowMs - hourMs, createdUntilMs: nowMs, limit: 1 },
    signal,
  );
  if (!page.ok) return [describeResult(page.result, 'the list of transfers')];
  const result = await api.getBalanceAccount(signal);
  const faults: string[] = [];
  const account = balanceAccountSchema.safeParse('json' in result ? result.json : undefined);
  if (!('status' in result) || result.status !== 200 || !account.success) {
    faults.push(describeResult(result, 'the balance account'));
  } else {
    const { status, id } = account.data;
    if (id !== config.balanceAccountId) faults.push('Adyen answers for another balance account');
    if (status !== undefined && status.toLowerCase() !== 'active') {
      faults.push(`the balance account has the status ${status}`);
    }
  }
  const dateMs = 'dateMs' in result ? result.dateMs : undefined;
  const apartS = Math.round(Math.abs(nowMs - (dateMs ?? nowMs)) / 1000);
  if (apartS > clockFaultS) faults.push(`Adyen's clock differs from ours by ${apartS} s`);
  return faults;
}

function describeResult(result: ApiResult, what: string): string {
  if (result.kind !== 'answered') {
    const { kind, error = 'cut off' } = result;
    return kind === 'not_sent'
      ? `Adyen cannot be reached (${error}): check apiUrl and the network`
      : `Adyen gave no answer to the query of ${what} (${error})`;
  }
  if (result.status === 401) return 'Adyen refuses the API key: check apiKey and environment';
  if (result.status === 403) return `the API key has no role to read ${what}`;
  return `Adyen answers ${result.status} to the query of ${what}`;
}
