import { commitPayout } from '../../server/src/payouts/payouts.ts';
import { drive } from '../drive.ts';
import { payoutMinor, type ReadyPayout } from '../fixture.ts';
import {
  describeOverdraft,
  describeSameKey,
  type Place,
  type RaceResult,
  raceCommands,
  raceCovered,
  type Subject,
} from '../subject.ts';
import { createReserve, type OurEnvironment, openOurEnvironment } from './environment.ts';

/** Commits into the ledger through the batcher, without HTTP. */
export function createInProcessSubject(): Subject {
  let ours: OurEnvironment | undefined;
  let reserve: ReturnType<typeof createReserve> | undefined;
  return {
    name: 'outlay, in process',
    prepare: async (place: Place) => {
      ours = await openOurEnvironment(place, 'ours_in_process');
      reserve = createReserve(ours.fixture, 12_000);
    },
    run: async (load) => {
      if (ours === undefined || reserve === undefined) throw new Error('not prepared');
      const { env } = ours;
      const payouts = await reserve.take(load.workload, load.seconds);
      const measure = await drive(load, () => {
        const payout = payouts.pop();
        return payout === undefined ? undefined : commitNow(env, payout);
      });
      reserve.noteRate(load.workload, measure.count / measure.seconds);
      return measure;
    },
    races: async () => {
      if (ours === undefined) throw new Error('not prepared');
      return [await raceOverdraft(ours), await raceSameKey(ours)];
    },
    check: async () => ours?.fixture.check(),
    close: async () => ours?.close(),
  };
}

type Committer = Pick<OurEnvironment['env'], 'groupCommit' | 'db'>;

export async function commitNow(committer: Committer, payout: ReadyPayout): Promise<void> {
  if (!(await tryCommit(committer, payout))) throw new Error('a payout in order was refused');
}

/** As a request does it: what the batch leaves alone is looked at by itself. */
async function tryCommit({ groupCommit, db }: Committer, payout: ReadyPayout): Promise<boolean> {
  const answer = await groupCommit.submit({ ...payout, requestKey: undefined });
  if (answer !== undefined) return true;
  const { accountId, userId, payoutId } = payout;
  const owner = { session: db.tenant(accountId), accountId, userId };
  return (await commitPayout(owner, payoutId)).status === 'success';
}

async function raceOverdraft(ours: OurEnvironment): Promise<RaceResult> {
  const owner = await ours.fixture.createOwner(BigInt(raceCovered) * payoutMinor);
  const payouts = await ours.fixture.makePayouts(raceCommands, owner);
  const answers = await Promise.all(payouts.map((payout) => tryCommit(ours.env, payout)));
  const effects = await Promise.all(
    payouts.map(({ payoutId }) => ours.fixture.countEffects(payoutId)),
  );
  const paid = effects.reduce((sum, count) => sum + count, 0);
  if (paid !== answers.filter(Boolean).length) throw new Error('answers and ledger differ');
  return describeOverdraft(paid, await ours.fixture.readWallet(owner.accountId));
}

async function raceSameKey(ours: OurEnvironment): Promise<RaceResult> {
  const owner = await ours.fixture.createOwner(payoutMinor * 1000n);
  const [payout] = await ours.fixture.makePayouts(1, owner);
  if (payout === undefined) throw new Error('no payout');
  await Promise.all(Array.from({ length: raceCommands }, () => tryCommit(ours.env, payout)));
  return describeSameKey(await ours.fixture.countEffects(payout.payoutId));
}
