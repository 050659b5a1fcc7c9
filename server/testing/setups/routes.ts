import { randomUUID } from 'node:crypto';
import { getRate } from '../../src/core/rate.ts';
import { getDestinationToken } from '../../src/destinations/catalog.ts';
import type { Rules } from '../../src/dispatch/dispatch.ts';
import { applyNotifications } from '../../src/dispatch/notifications.ts';
import { type DecisionAction, decidePayout } from '../../src/exceptions/decisions.ts';
import type { Rail, RailAnswer, RailObservation } from '../../src/rails/contract/contract.ts';
import { createHost } from '../../src/rails/host/host.ts';
import { createCompany, createPayer, createRates } from './destinations.ts';
import { type CommittedPayout, createFakeRail, createMoneyTest } from './money.ts';
import { twoPersonsAbove } from './policy.ts';

/** A dynamic destination at rail `first`, and rails whose payers can take over. */

export const rates = createRates({ 'USD/MXN': getRate('20') });

type Answering = (kind: 'send' | 'query') => RailAnswer | Promise<RailAnswer>;
type Notified = Partial<RailObservation> & Pick<RailObservation, 'outcome'>;

export function createRail(name: string, isDynamicToken: boolean, answer: Answering) {
  const fake = createFakeRail(({ kind }) => answer(kind));
  const payers = [createPayer(name, { payerName: 'Bank', isDynamicToken })];
  return { ...fake, name, companies: [createCompany('first')], payers };
}

export const first = (answer: Answering) => createRail('first', true, answer);
export const secondPayer = (answer: Answering) => createRail('second', false, answer);
export const thirdPayer = (answer: Answering) => createRail('third', false, answer);
export const refuse = (): RailAnswer => ({ outcome: 'rejected', reason: 'payer_unavailable' });
export const pay = (): RailAnswer => ({ outcome: 'paid' });

export async function createRoutesTest() {
  const money = await createMoneyTest();
  const owner = await money.createOwner({ USD: 100_000_000n });
  return {
    money,
    owner,
    /** 100 USD and a fee of 1, for 1,900 MXN, through the dynamic payer of rail `first`. */
    commit: () =>
      money.quoteAndCommit(owner, {
        rail: 'first',
        payerKey: 'first',
        destinationToken: getDestinationToken('first', 'first'),
        destinationMinor: 190_000n,
      }),
    open: (rails: readonly Rail[], rules?: Rules) => {
      const dispatcher = money.createDispatcherOf(rails, { rates, ...(rules && { rules }) });
      const errors: unknown[] = [];
      const services = {
        db: money.db,
        keys: money.keys,
        router: dispatcher.router,
        measurements: dispatcher.measurements,
        nowMs: money.clock.nowMs,
        onNotification: () => undefined,
        onError: (error: unknown) => errors.push(error),
      };
      const notify = async (rail: string, payout: CommittedPayout, observed: Notified) => {
        const host = createHost({
          name: rail,
          payers: [],
          db: money.db,
          keys: money.keys,
          nowMs: money.clock.nowMs,
          realNowMs: Date.now,
          fetch,
          callbackUrl: '',
          wake: () => undefined,
          onInboundMessage: () => undefined,
          log: () => undefined,
        });
        const { reference } = payout;
        const observation = { id: randomUUID(), reference, atMs: 0, ...observed };
        await host.receive({
          id: randomUUID(),
          channel: 'callback',
          raw: Buffer.of(1),
          observations: [observation],
        });
        await applyNotifications(services);
      };
      const decide = (payout: CommittedPayout, action: DecisionAction) =>
        decidePayout(
          {
            db: money.db,
            keys: money.keys,
            dispatcher,
            rates: () => rates,
            readPolicy: twoPersonsAbove(1_000_000),
          },
          {
            ...payout,
            action,
            decidedBy: 'ada',
            operatorId: '00000000-0000-7000-8000-0000000000aa',
            reason: 'a test',
          },
        );
      return { dispatcher, notify, decide, errors };
    },
    statusOf: async ({ payoutId }: CommittedPayout) => (await money.payout(payoutId)).status,
    openKinds: async ({ payoutId }: CommittedPayout) =>
      (
        await money.rows<{ kind: string }>(
          'select kind from exceptions where payout_id = $1 and closed_at is null order by kind',
          [payoutId],
        )
      ).map(({ kind }) => kind),
    settled: (rail: string) => money.balance(owner.accountId, 'MXN', `settlement:${rail}`),
    /** Whether a next query is planned. */
    nextQueryOf: async ({ payoutId }: CommittedPayout) => {
      const [row] = await money.rows<{ is_ever: boolean }>(
        `select due_at < 'infinity' as is_ever from payout_dispatches where payout_id = $1`,
        [payoutId],
      );
      return row?.is_ever === true ? 'some time' : 'never';
    },
    /** Ends the work that another test left. */
    clearDue: () => money.rows(`update payout_dispatches set due_at = '9999-01-01'`),
  };
}
