import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest, type Owner } from '../../../testing/setups/money.ts';
import { askService, listOpinions, type PayoutToAsk, requestOpinions } from './opinions.ts';
import { createScreeningService, type ScreeningService, ScreeningServiceError } from './service.ts';

/** Questions to a screening service in the database: one for each state of a payout's data, whatever fails. */

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

type Asked = { id: string; body: string };

function createCompany(answer: (asked: Asked) => Promise<'clear' | 'hit'>) {
  const asked: Asked[] = [];
  const errors: unknown[] = [];
  const service: ScreeningService = {
    name: 'company',
    ask: async (request) => {
      asked.push(request);
      return { result: await answer(request), reference: '', matches: [] };
    },
  };
  const run = (signal = new AbortController().signal) =>
    askService(
      {
        session: money.db.system,
        keys: money.keys,
        service,
        onError: (error) => errors.push(error),
        waitsMs: [0, 0],
        leaseMs: 0,
      },
      signal,
    );
  return { asked, errors, run };
}

async function preparePayout(): Promise<PayoutToAsk & Owner> {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { id: payoutId } = await money.quote(owner);
  return {
    ...owner,
    payoutId,
    person: {
      firstName: 'Ana',
      middleName: '',
      lastName: 'Gómez',
      businessName: '',
      dateOfBirth: '',
      countryCode: 'MEX',
    },
    attributes: { BankAccountName: 'A Gómez' },
    destinationCountry: 'MEX',
    isToWallet: false,
  };
}

const request = async (payout: PayoutToAsk) => {
  const services = { session: money.db.system, keys: money.keys };
  const [state] = await requestOpinions(services, { name: 'company' }, [payout]);
  return state;
};

test('the same data are one question, other data another', async () => {
  const company = createCompany(async () => 'clear');
  const payout = await preparePayout();
  assert.equal(await request(payout), 'asked');
  assert.equal(await request(payout), 'asked');
  await company.run();
  assert.equal(company.asked.length, 1);
  assert.equal(await request(payout), 'clear');
  const corrected = { ...payout, attributes: { BankAccountName: 'Ana Gómez Ruiz' } };
  assert.equal(await request(corrected), 'asked', 'an answer about other data does not count');
  await company.run();
  assert.equal(await request(corrected), 'clear');
  assert.equal(company.asked.length, 2);
  assert.match(company.asked[1]?.body ?? '', /Ruiz/);
});

test('tries repeat key and body, and after the last one the question is unanswered', async () => {
  const company = createCompany(() => Promise.reject(new ScreeningServiceError('down')));
  const payout = await preparePayout();
  await request(payout);
  for (let tries = 0; tries < 5; tries += 1) await company.run();
  assert.equal(company.asked.length, 3, 'one more than there are waits');
  assert.equal(new Set(company.asked.map((asked) => JSON.stringify(asked))).size, 1);
  assert.equal(company.errors.length, 3);
  assert.equal(await request(payout), 'unanswered');
  const [shown] = await listOpinions({ session: money.db.system, keys: money.keys }, payout);
  assert.deepEqual([shown?.opinion, shown?.tries], ['unanswered', 3]);
});

test('an answer after another one, and a stop, change nothing', async () => {
  const payout = await preparePayout();
  await request(payout);
  const first = Promise.withResolvers<'clear' | 'hit'>();
  let calls = 0;
  const company = createCompany(async () => {
    calls += 1;
    return calls === 1 ? first.promise : 'hit';
  });
  const slow = company.run();
  while (calls === 0) await new Promise((resolve) => setImmediate(resolve));
  await company.run();
  assert.equal(await request(payout), 'hit');
  first.resolve('clear');
  await slow;
  assert.equal(await request(payout), 'hit', 'the first answer counts');

  const other = await preparePayout();
  await request(other);
  const stopping = AbortSignal.abort();
  await createCompany(() => Promise.reject(new ScreeningServiceError('stopped'))).run(stopping);
  assert.equal(await request(other), 'asked', 'the next process asks again');
});

test('questions are stored sealed in the database', async () => {
  const payout = await preparePayout();
  await request(payout);
  const [row] = await money.rows<{ request: Buffer }>(
    'select request from screening_opinions where payout_id = $1',
    [payout.payoutId],
  );
  assert.equal(row?.request.includes('Ana'), false);
});

test('answers of another form, too long ones, redirects and statuses are no answers', async () => {
  const { signal } = new AbortController();
  const asked = { id: 'one', body: '{}' };
  const answers: readonly [RegExp, () => Response][] = [
    [/another form/, () => new Response('{"result": "maybe"}')],
    [/another form/, () => new Response('<html>Ana</html>')],
    [/over 65536 bytes/, () => new Response('x'.repeat(70_000))],
    [/answered 503/, () => new Response('Ana', { status: 503 })],
    [/no answer/, () => Response.error()],
  ];
  for (const [message, answer] of answers) {
    const service = createScreeningService({
      url: 'https://screening.example.com/',
      token: 'secret',
      fetch: async () => {
        const response = answer();
        if (response.type === 'error') throw new TypeError('fetch failed');
        return response;
      },
    });
    await assert.rejects(service.ask(asked, signal), (error: Error) => {
      assert.ok(error instanceof ScreeningServiceError);
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /Ana/);
      return true;
    });
  }
});
