import { randomBytes } from 'node:crypto';
import { createKeyRing } from '../../server/src/core/sealing.ts';
import { connectDatabase } from '../../server/src/db/postgres/pool.ts';
import { createGroupCommit } from '../../server/src/payouts/group-commit.ts';
import { drive } from '../drive.ts';
import type { ReadyPayout } from '../fixture.ts';
import type { LoadShape } from '../subject.ts';
import { commitNow } from './in-process.ts';

/** One of several processes that commit payouts of the same account; it reports how fast. */

const db = connectDatabase({ url: process.env['DATABASE_URL'] ?? '', connectionsMax: 16 });
const groupCommit = createGroupCommit(db, createKeyRing(randomBytes(32)));

process.on('message', (message: { payouts: ReadyPayout[]; load: LoadShape }) => {
  const { payouts, load } = message;
  const step = (): Promise<void> | undefined => {
    const payout = payouts.pop();
    return payout === undefined ? undefined : commitNow({ groupCommit, db }, payout);
  };
  drive(load, step).then(
    (measure) => process.send?.(measure),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.once('disconnect', () => {
  void db.close().finally(() => process.exit());
});
process.send?.({});
