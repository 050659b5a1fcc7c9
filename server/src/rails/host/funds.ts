import type { Rail, RailFunds } from '../contract/contract.ts';

/** What is left at the counterparties of rails that can say it, as last read by this process. */
export type FundsReadings = {
  readonly railNames: readonly string[];
  /** @throws Error where the counterparty does not answer; the last reading stays. */
  refresh(rail: string, signal: AbortSignal): Promise<void>;
  list(): ReadonlyMap<string, readonly RailFunds[]>;
};

const readMsMax = 20_000;

export function createFundsReadings(
  rails: readonly Pick<Rail, 'name' | 'readFunds'>[],
): FundsReadings {
  const readers = new Map(
    rails.flatMap(({ name, readFunds }) =>
      readFunds === undefined ? [] : [[name, readFunds] as const],
    ),
  );
  const readings = new Map<string, readonly RailFunds[]>();
  return {
    railNames: [...readers.keys()],
    refresh: async (rail, stopping) => {
      const signal = AbortSignal.any([stopping, AbortSignal.timeout(readMsMax)]);
      readings.set(rail, (await readers.get(rail)?.({ signal })) ?? []);
    },
    list: () => readings,
  };
}
