import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSender, describeRows, uploadRows } from './batch-kit.ts';
import { add, type ExactNumber, subtract } from './exact.ts';
import {
  commitPayout,
  createPayout,
  createRecipient,
  deliveryCases,
  describePayout,
  type Payout,
  payoutPath,
  type Recipient,
} from './recipients.ts';
import {
  cancel,
  cancellationPath,
  courseOf,
  isoOf,
  moveTo,
  read,
  readNowMs,
  type Scheduled,
  schedule,
} from './schedule-kit.ts';
import {
  type Api,
  advance,
  createAccount,
  daySeconds,
  fund,
  ok,
  readBalance,
  type Service,
  startService,
} from './service.ts';
import { assertProblem } from './shapes.ts';

/** Payouts for a later time, on the sandbox's clock. */

/** Counters with the hours of banks: Monday to Friday, the cut-off at 17:00, six hours behind UTC. */
const post = { query: `payer_name=${encodeURIComponent('Sandbox Post Counters Mexico')}` };

let service: Service;
let api: Api;

before(async () => {
  service = await startService();
  api = (await createAccount(service, { USD: '100000' })).api;
});
after(() => service.stop());

async function waitFor(
  recipient: Recipient,
  token: string,
  { through, status }: { through: Api; status: RegExp },
): Promise<Scheduled> {
  for (const endMs = performance.now() + 60_000; ; await sleep(50)) {
    const payout = await read(through, recipient, token);
    if (status.test(payout['status'] ?? '')) return payout;
    if (performance.now() > endMs) throw new Error(`the payout stays ${payout['status']}`);
  }
}

/** A first Wednesday without holidays near it, within a year. */
async function findQuietWednesday(): Promise<string> {
  const nowMs = await readNowMs(api);
  const year = new Date(nowMs).getUTCFullYear();
  const days = [year, year + 1].flatMap((one) =>
    [5, 7].map((month) => {
      const first = new Date(Date.UTC(one, month, 1));
      return Date.UTC(one, month, 1 + ((10 - first.getUTCDay()) % 7));
    }),
  );
  const day = days.find((dayMs) => dayMs > nowMs + 2 * daySeconds * 1000) ?? Number.NaN;
  return new Date(day).toISOString().slice(0, 10);
}

const addDays = (day: string, count: number): string =>
  new Date(Date.parse(day) + count * daySeconds * 1000).toISOString().slice(0, 10);

test('a payout runs at its time on a business day, and after a cut-off or rest at the next opening', async () => {
  const recipient = await createRecipient(api, deliveryCases.cash, post);
  const runsAt = async (scheduledFor: string): Promise<string | undefined> => {
    const payout = await createPayout(api, recipient, { scheduled_for: scheduledFor });
    assert.equal(payout['scheduled_for'], scheduledFor);
    assert.equal(payout['status'], 'PENDING');
    return payout['runs_at'];
  };
  const wednesday = await findQuietWednesday();
  assert.equal(await runsAt(`${wednesday}T07:30:00-06:00`), `${wednesday}T13:30:00Z`);
  assert.equal(await runsAt(`${wednesday}T17:00:00-06:00`), `${wednesday}T23:00:00Z`);
  // A second after the cut-off, on a Saturday, and a day without a time.
  assert.equal(await runsAt(`${wednesday}T23:00:01Z`), `${addDays(wednesday, 1)}T15:00:00Z`);
  assert.equal(await runsAt(addDays(wednesday, 3)), `${addDays(wednesday, 5)}T15:00:00Z`);
  assert.equal(await runsAt(wednesday), `${wednesday}T15:00:00Z`);
  const nowMs = await readNowMs(api);
  const year = new Date(nowMs).getUTCFullYear();
  const christmas = [0, 1].map((more) => `${year + more}-12-25`).find((day) => day > isoOf(nowMs));
  const weekday = new Date(christmas ?? '').getUTCDay();
  const rest = { 5: 3, 6: 2 }[weekday] ?? 1;
  assert.equal(await runsAt(christmas ?? ''), `${addDays(christmas ?? '', rest)}T15:00:00Z`);
});

test('a chain runs on all days, and a payout without scheduled_for when it is committed', async () => {
  const crypto = await createRecipient(api, deliveryCases.crypto);
  const sunday = addDays(await findQuietWednesday(), 4);
  const payout = await createPayout(api, crypto, { scheduled_for: `${sunday}T23:59:59Z` });
  assert.equal(payout['runs_at'], `${sunday}T23:59:59Z`);
  const plain = await createPayout(api, crypto);
  assert.deepEqual([plain['scheduled_for'], plain['runs_at'], plain['runs_until']], ['', '', '']);
});

test('a scheduled commit takes its transfer and no money, until its time comes', async () => {
  const { api: own } = await createAccount(service, { USD: '1000' });
  const recipient = await createRecipient(own, deliveryCases.cash);
  const transfer = randomUUID();
  const payout = await schedule(own, recipient, { client_transfer_id: transfer });
  const { payout_token: token } = payout;
  const committed = await read(own, recipient, token);
  assert.equal(committed['status'], 'SCHEDULED');
  assert.match(committed['pickup_code'] ?? '', /^\d{8}$/);
  assert.equal(committed.cancelable, true);
  assert.equal(await readBalance(own), '1000');
  const [first, second] = [0, 1].map(() => commitPayout(own, recipient, token));
  assert.deepEqual(await first, await second);
  assert.equal((await first)?.pickup_code, committed['pickup_code']);
  const again = describePayout(recipient, { client_transfer_id: transfer });
  const repeated = await own.post(`/payout/${recipient.userToken}`, again);
  assertProblem(repeated, 409, 'duplicate_transfer');
  const listed = ok(await own.get<Scheduled[]>('/payout?status=SCHEDULED'));
  assert.deepEqual(
    listed.map((one) => one['payout_token']),
    [token],
  );

  await moveTo(own, isoOf(Date.parse(payout.runs_at) - 60_000));
  assert.equal((await read(own, recipient, token))['status'], 'SCHEDULED');
  const before = await own.get<{ sequence: ExactNumber }[]>('/events');
  await moveTo(own, payout.runs_at);
  const ran = await read(own, recipient, token);
  assert.equal(ran['status'], 'PROCESSING');
  assert.equal(ran.cancelable, false);
  assert.deepEqual(courseOf(ran), [['PENDING'], ['SCHEDULED'], ['PROCESSING']]);
  assert.equal(ran.timeline.at(-1)?.time, payout.runs_at);
  assert.equal(subtract('1000', await readBalance(own)), ran.total_debit.text);
  assert.equal((await commitPayout(own, recipient, token)).pickup_code, committed['pickup_code']);
  assertProblem(await cancel(own, recipient, token), 409, 'illegal_move');
  const after = ok(before).at(-1)?.sequence.text;
  const events = ok(await own.get<{ type: string; data: Scheduled }[]>(`/events?after=${after}`));
  assert.equal(events[0]?.type, 'payout.processing');
  assert.equal(events[0]?.data['status'], 'PROCESSING');
});

test('a payout that lacks funds says so once, and runs when they arrive', async () => {
  const { api: own } = await createAccount(service);
  await fund(own, 'USD', '30');
  const recipient = await createRecipient(own, deliveryCases.bank);
  const { payout_token: token, ...payout } = await schedule(own, recipient);
  await moveTo(own, payout.runs_at);
  const waiting = await read(own, recipient, token);
  assert.equal(waiting['status'], 'SCHEDULED');
  assert.equal(waiting['reason_code'], 'waiting_for_funds');
  assert.equal(waiting['actor'], 'client');
  assert.equal(waiting.shortfall?.amount.text, subtract(waiting.total_debit.text, '30'));
  // A part of it, and an hour of tries: the shortfall is the same news, and falls.
  await fund(own, 'USD', '1');
  await advance(own, 3600);
  const atMs = await readNowMs(own);
  assert.equal(await readBalance(own), '31');
  assert.equal((await read(own, recipient, token)).timeline.length, 3);

  await fund(own, 'USD', waiting.shortfall?.amount.text ?? '');
  const ran = await waitFor(recipient, token, { through: own, status: /PROCESSING|COMPLETED/ });
  assert.deepEqual(courseOf(ran).slice(0, 4), [
    ['PENDING'],
    ['SCHEDULED'],
    ['SCHEDULED', 'waiting_for_funds'],
    ['PROCESSING'],
  ]);
  assert.ok(Date.parse(ran.timeline[3]?.time ?? '') > Date.parse(payout.runs_at) + 3_500_000);
  assert.equal(ran.shortfall, undefined);
  assert.equal(
    await readBalance(own),
    subtract(add('31', waiting.shortfall?.amount.text ?? ''), ran.total_debit.text),
  );
  const asOf = isoOf(atMs - 1000).slice(0, 19);
  const then = ok(await own.get<Scheduled>(`${payoutPath(recipient, token)}?as_of=${asOf}`));
  assert.equal(then['status'], 'SCHEDULED');
  assert.equal(then.shortfall?.amount.text, waiting.shortfall?.amount.text);
  const events = ok(await own.get<{ type: string; data: Scheduled }[]>('/events'));
  const scheduled = events.filter(({ type }) => type === 'payout.scheduled');
  assert.deepEqual(
    scheduled.map(({ data }) => [data['reason_code'], data.shortfall?.amount.text]),
    [
      ['', undefined],
      ['waiting_for_funds', waiting.shortfall?.amount.text],
    ],
  );
});

test('a payout whose funds do not arrive is canceled at its deadline, and gives nothing back', async () => {
  const { api: own } = await createAccount(service);
  await fund(own, 'USD', '30');
  const recipient = await createRecipient(own, deliveryCases.cash, post);
  const { payout_token: token, ...payout } = await schedule(own, recipient);
  const runsOn = new Date(payout.runs_at).getUTCDay();
  const days = (Date.parse(payout.runs_until) - Date.parse(payout.runs_at)) / daySeconds / 1000;
  assert.ok(days >= 3 && days <= 7 && (runsOn > 2 || days < 5), `${runsOn}: ${days}`);
  // The clock runs on meanwhile.
  await moveTo(own, isoOf(Date.parse(payout.runs_until) - 60_000));
  assert.equal((await read(own, recipient, token))['status'], 'SCHEDULED');
  await moveTo(own, payout.runs_until);
  const ended = await read(own, recipient, token);
  assert.equal(ended['status'], 'CANCELLED');
  assert.equal(ended['reason_code'], 'funds_did_not_arrive');
  assert.equal(ended['canceled_at'], payout.runs_until);
  assert.equal(ended.refund, undefined);
  assert.equal(await readBalance(own), '30');
  const listed = ok(await own.get<Scheduled[]>('/payout?status=CANCELLED'));
  assert.equal(listed[0]?.['payout_token'], token);
  assert.match((await commitPayout(own, recipient, token)).errors, /has ended: the funds/);
});

test('a payout waits while its price is outside of its bounds, and is canceled after that', async () => {
  const { api: own } = await createAccount(service, { USD: '1000' });
  const recipient = await createRecipient(own, deliveryCases.bank);
  const priced = await createPayout(own, recipient);
  const least = priced.destination_amount.text;
  const good = await schedule(own, recipient, { min_destination_amount: Number(least) });
  const bad = await schedule(own, recipient, { min_destination_amount: Number(least) * 2 });
  const expensive = { destination_amount: Number(least), max_source_amount: 50 };
  const other = await schedule(own, recipient, expensive);
  await moveTo(own, other.runs_at);
  assert.equal((await read(own, recipient, good.payout_token)).timeline[2]?.status, 'PROCESSING');
  for (const { payout_token: token } of [bad, other]) {
    const waiting = await read(own, recipient, token);
    assert.deepEqual(
      [waiting['status'], waiting['reason_code'], waiting['actor']],
      ['SCHEDULED', 'price_out_of_bounds', 'client'],
    );
  }
  await moveTo(own, bad.runs_until > other.runs_until ? bad.runs_until : other.runs_until);
  for (const { payout_token: token } of [bad, other]) {
    const ended = await read(own, recipient, token);
    assert.deepEqual([ended['status'], ended['reason_code']], ['CANCELLED', 'price_out_of_bounds']);
  }
});

test('a time that has passed, does not exist or is too far off is refused, and so are loose bounds', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const nowMs = await readNowMs(api);
  const faults: [Record<string, unknown>, string, string][] = [
    [{ scheduled_for: isoOf(nowMs - 60_000) }, 'too_early', '/scheduled_for'],
    [{ scheduled_for: isoOf(nowMs - 3 * 86_400_000).slice(0, 10) }, 'too_early', '/scheduled_for'],
    [{ scheduled_for: isoOf(nowMs + 366 * 86_400_000) }, 'too_late', '/scheduled_for'],
    [{ scheduled_for: '2030-02-30' }, 'invalid_value', '/scheduled_for'],
    [{ scheduled_for: '2030-02-01T10:00:00' }, 'invalid_value', '/scheduled_for'],
    [
      { scheduled_for: `${isoOf(nowMs + 9e7).slice(0, 10)}T24:00:00Z` },
      'invalid_value',
      '/scheduled_for',
    ],
    [{ scheduled_for: 'tomorrow' }, 'invalid_value', '/scheduled_for'],
    [{ min_destination_amount: 5 }, 'required', '/scheduled_for'],
    [
      { scheduled_for: isoOf(nowMs + 9e7), max_source_amount: 5 },
      'amounts_exclusive',
      '/max_source_amount',
    ],
    [
      { scheduled_for: isoOf(nowMs + 9e7), min_destination_amount: 0.001 },
      'amount_too_precise',
      '/min_destination_amount',
    ],
  ];
  for (const [changes, code, pointer] of faults) {
    const body = describePayout(recipient, changes);
    const reply = await api.post(`/payout/${recipient.userToken}`, body);
    const { errors } = assertProblem(reply, 400, code);
    assert.equal(errors[0]?.pointer, pointer);
  }
});

test('a row of a batch that names another time is refused, and not paid today', async () => {
  const sender = await createSender(service, { funds: '1000' });
  const [plain = {}, later = {}, bounded = {}] = describeRows(sender, 3);
  const batch = await uploadRows(sender.api, [
    { ...plain, scheduled_for: '' },
    { ...later, scheduled_for: '2030-01-02' },
    { ...bounded, min_destination_amount: '100' },
  ]);
  assert.deepEqual(
    batch.faults.map(({ row, column }) => [row.text, column]),
    [
      ['2', 'scheduled_for'],
      ['3', 'min_destination_amount'],
    ],
  );
});

test('a dry run of a scheduled payout is priced as today, and its commit posts nothing', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const scheduledFor = isoOf((await readNowMs(api)) + 2 * daySeconds * 1000);
  const body = describePayout(recipient, { scheduled_for: scheduledFor });
  const path = `/payout/${recipient.userToken}`;
  type Dry = Payout & { dry_run: { postings: unknown[]; commit: { status: string } } };
  const dry = ok(await api.post<Dry>(path, body, { prefer: 'dry-run' }));
  assert.equal(dry['scheduled_for'], scheduledFor);
  assert.equal(dry.dry_run.commit.status, 'success');
  assert.deepEqual(dry.dry_run.postings, []);
  const { payout_token: token } = await schedule(api, recipient);
  const refused = await api.post(cancellationPath(recipient, token), undefined, {
    prefer: 'dry-run',
  });
  assertProblem(refused, 400, 'dry_run_unsupported');
});
