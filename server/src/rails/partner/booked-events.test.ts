import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import {
  context,
  newInstruction,
  newKeys,
  openPartner,
  openPartnerRail,
  openWithSecrets,
  type PartnerRail,
} from '../../../testing/setups/partner.ts';

/** Orders that the partner has booked and not paid yet, in its list of events. */

const keys = newKeys();
const key = { id: 'outlay-1', key: randomBytes(32).toString('base64') };
const callbackKey = { id: 'partner-1', key: randomBytes(32).toString('base64') };
const light = {
  authentication: { kind: 'hmac' as const, key },
  callbackKeys: [callbackKey],
  queryLagSeconds: 0,
};
const options = { settleMs: 86_400_000, capabilities: ['booked_events' as const] };

type Level = {
  readonly name: string;
  open(): Promise<Awaited<ReturnType<typeof openWithSecrets>>>;
  readonly access: { readonly keys?: typeof keys; readonly config: object };
};
const levels: readonly Level[] = [
  {
    name: 'signed',
    open: () => openPartner(options, keys),
    access: { keys, config: { capabilities: ['booked_events'] } },
  },
  {
    name: 'light',
    open: () => openWithSecrets(options, { light: { outlayKeys: [key], callbackKey } }),
    access: { config: { capabilities: ['booked_events'], light } },
  },
];

for (const { name, open, access } of levels) {
  describe(`at the ${name} level`, () => {
    let partner: Awaited<ReturnType<Level['open']>>;
    let subject: PartnerRail;
    const openRail = (config: object = {}) =>
      openPartnerRail({
        url: `http://127.0.0.1:${partner.port}`,
        ...access,
        config: { ...access.config, ...config },
      });
    before(async () => {
      partner = await open();
      subject = await openRail();
    });
    after(async () => {
      await subject.close();
      await partner.close();
    });

    test('a restored database finds them', async () => {
      const instruction = newInstruction();
      assert.equal((await subject.rail.send(instruction, context)).outcome, 'accepted');
      const restored = await openRail();
      try {
        assert.match(
          (await restored.rail.findUnknownPayments?.(context)) ?? '',
          /^the partner lists 1 payments that this database has no record of$/,
        );
        const found = (await restored.rail.recover?.(0, context)) ?? [];
        const ours = found.filter(({ reference }) => reference === instruction.reference);
        assert.deepEqual(
          ours.map(({ outcome, amountMinor, currency }) => [outcome, amountMinor, currency]),
          [['accepted', 10_010n, 'EUR']],
        );
        assert.equal(
          restored.host.lines.some(({ message }) => /does not list/.test(message)),
          false,
        );
      } finally {
        await restored.close();
      }
    });

    test('they cost neither a message nor a query where they are known', async () => {
      const instruction = newInstruction();
      await subject.rail.send(instruction, context);
      await subject.rail.work?.(context);
      const all = [...subject.host.messages, ...subject.host.observations];
      assert.deepEqual(all, []);
      const announced = await subject.host.store.list('announcements', { count: 1 });
      assert.deepEqual(announced, []);
      partner.state.lifecycle.move(instruction.reference, { state: 'paid', reason: '' });
      await subject.rail.work?.(context);
      const { outcome } = subject.host.observations.at(-1) ?? {};
      assert.equal(outcome, 'paid');
    });

    test('an operator is told where the partner does not list them', async () => {
      const rail = await openRail({ capabilities: [] });
      try {
        await rail.rail.recover?.(0, context);
        assert.ok(rail.host.lines.some(({ message }) => /does not list orders/.test(message)));
      } finally {
        await rail.close();
      }
    });
  });
}

test('at the signed level one without a record is stored, as unmatched', async () => {
  const partner = await openPartner(options, keys);
  const url = `http://127.0.0.1:${partner.port}`;
  const config = { capabilities: ['booked_events' as const] };
  const [subject, restored] = [
    await openPartnerRail({ url, keys, config }),
    await openPartnerRail({ url, keys, config }),
  ];
  try {
    const instruction = newInstruction();
    await subject.rail.send(instruction, context);
    await restored.rail.work?.(context);
    assert.deepEqual(
      restored.host.observations.map(({ reference, outcome }) => [reference, outcome]),
      [[instruction.reference, 'accepted']],
    );
  } finally {
    await subject.close();
    await restored.close();
    await partner.close();
  }
});
