import assert from 'node:assert/strict';
import { explainViolations } from '../rails-trial/books.ts';
import { openClock } from '../rails-trial/clock.ts';
import { checkBooks, gatherEvidence } from '../rails-trial/evidence.ts';
import { judge } from '../rails-trial/judge.ts';
import { settleMinutes } from '../rails-trial/settle.ts';
import { openBooks } from '../reliability-kit.ts';
import type { Api } from '../service.ts';
import type { DrillLoad } from './load.ts';
import { say } from './machine.ts';
import { type DrilledService, fundedUsd } from './service.ts';

export type Scene = {
  readonly service: Pick<DrilledService, 'partner' | 'clockFile'>;
  readonly accountId: string;
  /** Of a process that runs. */
  readonly api: Api;
  readonly load: DrillLoad;
  /** The database itself. */
  readonly url: string;
};

/** @throws unless the partner's books, the client's journal and the ledger agree. */
export async function assertPaidOnce({ service, accountId, api, load, url }: Scene): Promise<void> {
  const { partner, clockFile } = service;
  const books = openBooks(url);
  const clock = await openClock(clockFile, () => api);
  await settleMinutes({ books, accountId, clock, counterparts: [partner], say });
  const evidence = await gatherEvidence({
    accountId,
    entries: load.journal.entries,
    counterparts: [partner],
    books,
    funded: fundedUsd,
  });
  const { scores, violations } = judge(evidence);
  const all = [...violations, ...(await checkBooks({ books, evidence, api }))];
  const explained = await explainViolations(books, all);
  await books.close();
  for (const { committed, paid, held } of scores) {
    say(`${committed} committed, ${paid} paid by the partner's books, ${held} held`);
  }
  assert.deepEqual(all, [], explained);
}
