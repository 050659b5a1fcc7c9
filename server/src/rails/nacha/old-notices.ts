import type { InboundProblem } from '../contract/contract.ts';
import type { Context } from './books.ts';

/**
 * Earlier versions kept what they could not apply as sealed notices that no command showed. Each of
 * them becomes an inbound problem, once.
 */
const collection = 'notices';
const kinds = {
  unmatched: 'unmatched',
  dishonored: 'not_understood',
  contested: 'not_understood',
  refused_file: 'unreadable',
} as const satisfies Readonly<Record<string, InboundProblem['kind']>>;

type Notice = {
  readonly code?: string;
  readonly reference?: string;
  readonly amountMinor?: string;
  readonly fault?: string;
  readonly addenda?: Readonly<Record<string, string>>;
};

const pageSize = 100;

export async function reportOldNotices({ host }: Context): Promise<void> {
  for (const [state, kind] of Object.entries(kinds)) {
    const page = await host.store.list(collection, { state, count: pageSize });
    for (const { key, revision, value } of page) {
      const problem = describeNotice({ key, state, kind }, value as Notice);
      await host.receive({
        id: `notice-${key}`,
        channel: 'file',
        raw: Buffer.from(JSON.stringify({ key, state })),
        observations: [],
        problems: [problem],
      });
      await host.store.write([{ collection, key, revision, next: undefined }]);
    }
    if (page.length === pageSize) host.wake();
  }
}

function describeNotice(
  { key, state, kind }: { key: string; state: string; kind: InboundProblem['kind'] },
  { code = '', reference = '', amountMinor = '0', fault, addenda }: Notice,
): InboundProblem {
  const id = `notice-${key}`;
  if (state === 'refused_file') {
    const detail =
      `a bank file that an earlier version refused and archived as .refused (${fault ?? ''}): ` +
      'move it into the inbox to read it again';
    return { id, kind, detail };
  }
  const trace = addenda?.['originalTrace'] ?? '';
  return {
    id,
    kind,
    detail: `${state} report ${code} of the original trace ${trace}, reference ${reference}, kept by an earlier version`,
    ...(BigInt(amountMinor) > 0n ? { currency: 'USD', amountMinor: BigInt(amountMinor) } : {}),
  };
}
