import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { runRules } from '../../../../cli/src/partner-check/check.ts';
import { readDescription } from '../../../../cli/src/partner-check/description.ts';
import {
  type History,
  readHistory,
  writeHistory,
} from '../../../../cli/src/partner-check/history.ts';
import { openListener } from '../../../../cli/src/partner-check/listener.ts';
import { openPartner } from '../../../../cli/src/partner-check/partner.ts';
import { rules as allRules } from '../../../../cli/src/partner-check/rules.ts';
import type { Defect, Fault } from '../../../testing/counterparties/partner/simulator-options.ts';
import { createAuthority } from '../../../testing/setups/certificates.ts';
import { openWithSecrets } from '../../../testing/setups/partner.ts';
import { capabilities } from './capability-protocol.ts';

/** `outlay partner-check` as a process, against the partner simulator with and without defects. */

const program = fileURLToPath(new URL('../../../../cli/src/main.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'outlay-check-'));
after(() => rmSync(folder, { recursive: true }));

const behavior = {
  settleMs: 50,
  rejectLaterPattern: '^rejected$',
  returnPattern: '^returned$',
  returnAfterMs: 20,
  callbackRetryMs: 50,
  capabilities: [...capabilities],
  batchOrdersMax: 8,
  accountHolders: { ES9121000418450200051332: 'Ana Núñez' },
  deposits: { EUR: '1000.00', USD: '0.00' },
  prices: [
    {
      payer: 'bank',
      source_currency: 'USD',
      destination_currency: 'EUR',
      rate: '0.91',
      fee: [{ fixed: '0.50', basis_points: '20' }],
    },
  ],
  requiredFields: [{ fields: ['purpose', 'originator.legal_name', 'beneficiary.last_name'] }],
};

const payments = {
  order: {
    payer: 'bank',
    country: 'ESP',
    delivery_type: 'BANK_DEPOSIT',
    amount: '10.00',
    currency: 'EUR',
    destination: { bank_account_number: 'ES9121000418450200051332' },
    beneficiary: { first_name: 'Ana', last_name: 'Núñez' },
    originator: { legal_name: 'Example Limited' },
    purpose: 'SALARY',
  },
  rejected: { payer: 'rejected' },
  returned: { payer: 'returned' },
  accountChecks: {
    match: { beneficiary: { first_name: 'Ana', last_name: 'Nunez' } },
    close_match: { beneficiary: { first_name: 'Anna', last_name: 'Núñez' } },
    no_match: { beneficiary: { business_name: 'Obra SL' } },
  },
};

type Report = {
  passed: number;
  failed: number;
  skipped: number;
  rules: { name: string; result: string; detail?: string; rule: string; exchanges?: object[] }[];
};

function writeDescription(description: object): string {
  const file = join(folder, `${randomBytes(6).toString('hex')}.json`);
  writeFileSync(file, JSON.stringify(description));
  return file;
}

async function run(url: string, description: object, words: readonly string[] = ['--json']) {
  const file = writeDescription(description);
  const flags = ['--disable-warning=ExperimentalWarning', program, 'partner-check', url];
  const child = spawn(process.execPath, [...flags, '--file', file, '--wait', '20', ...words], {
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      HOME: folder,
    },
  });
  const [out, error, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number]>,
  ]);
  return { out, error, exitCode };
}

/** What is to come is waited for so long, on a busy machine too; what a defect keeps back, half a second. */
const patienceMs = 20_000;
const defectWaitMs = 500;
/** Where no payment stays paid, two rules wait for one to the end. */
const neverPaidMs = 3_000;

/** Checks rules in this process. */
async function checkRules(
  url: string,
  description: object,
  {
    names = allRules.map(({ name }) => name),
    history = readHistory(undefined),
    waitMs = patienceMs,
  }: {
    readonly names?: readonly string[];
    readonly history?: History;
    readonly waitMs?: number;
  } = {},
) {
  const read = readDescription(writeDescription(description));
  const { access } = read;
  const nowMs = () => Date.now();
  const listener = await openListener({ access, nowMs, port: 0, publicUrl: undefined });
  const { signal } = new AbortController();
  try {
    return await runRules(
      allRules.filter(({ name }) => names.includes(name)),
      {
        partner: openPartner(url, access, { nowMs, signal }),
        description: read,
        listener,
        history,
        waitMs,
        nowMs,
        sleep: (ms) => sleep(ms),
      },
      () => undefined,
    );
  } finally {
    listener.close();
  }
}

function listFailed({ out }: { out: string }): string[] {
  const { rules } = JSON.parse(out) as Report;
  return rules.filter(({ result }) => result === 'failed').map(({ name }) => name);
}

test('the file that the guide shows passes, with keys', async () => {
  const guide = readFileSync(
    new URL('../../../../docs/guides/partner.md', import.meta.url),
    'utf8',
  );
  const [, example = ''] = /```json\n(\{\n {2}"access".*?)```/s.exec(guide) ?? [];
  const { access, ...shown } = JSON.parse(example) as {
    access: { key: { id: string }; callbackKeys: [{ id: string }] };
  };
  const key = newKey(access.key.id);
  const callbackKey = newKey(access.callbackKeys[0].id);
  const partner = await openWithSecrets(
    {
      ...behavior,
      collectMs: 20,
      rejectLaterPattern: '_rejected$',
      returnPattern: '_returned$',
      capabilities: [],
      requiredFields: [],
    },
    { light: { outlayKeys: [key], callbackKey } },
  );
  try {
    const description = { access: { ...access, key, callbackKeys: [callbackKey] }, ...shown };
    const results = await checkRules(`http://127.0.0.1:${partner.port}`, description);
    assert.deepEqual(
      results.filter(({ result }) => result === 'failed'),
      [],
    );
    // As many as the guide says.
    assert.ok(partner.state.books.payments.size < 20);
  } finally {
    await partner.close();
  }
});

const newKey = (id: string) => ({ id, key: randomBytes(32).toString('base64') });

/** A key in both halves: with HMAC the same, with Ed25519 the private and the public PEM. */
function newPair(id: string, algorithm: 'hmac-sha256' | 'ed25519') {
  if (algorithm === 'hmac-sha256') {
    const key = { ...newKey(id), algorithm };
    return { signing: key, verifying: key };
  }
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const secret = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const open = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  return { signing: { id, algorithm, key: secret }, verifying: { id, algorithm, key: open } };
}

async function openSigning(algorithm: 'hmac-sha256' | 'ed25519') {
  const ours = newPair('outlay-1', algorithm);
  const theirs = newPair('partner-1', algorithm);
  const secrets = { outlayKeys: [ours.verifying], partnerKey: theirs.signing };
  const partner = await openWithSecrets(behavior, secrets);
  const access = { level: 'signed', signingKey: ours.signing, partnerKeys: [theirs.verifying] };
  return { partner, access, url: `http://127.0.0.1:${partner.port}` };
}

test('a partner that signs with ed25519 passes every rule', async () => {
  const { partner, access, url } = await openSigning('ed25519');
  try {
    const ran = await run(url, { access, ...payments });
    assert.deepEqual(listFailed(ran), []);
    assert.equal((JSON.parse(ran.out) as Report).skipped, 1);
    assert.equal(ran.exitCode, 0);
  } finally {
    await partner.close();
  }
});

test('a partner that signs with hmac-sha256 passes the rules about signatures', async () => {
  const { partner, access, url } = await openSigning('hmac-sha256');
  const names = allRules
    .map(({ name }) => name)
    .filter((name) => /^(?:answers|authentication-.*|payment-paid|callback-authentic)$/.test(name));
  try {
    const results = await checkRules(url, { access, ...payments }, { names });
    assert.deepEqual(
      results.map(({ name, result }) => `${name} ${result}`),
      names.map((name) => `${name} passed`),
    );
    assert.ok(names.length >= 6);
  } finally {
    await partner.close();
  }
});

test('a partner with client certificates passes every rule', async () => {
  const authority = createAuthority();
  const tls = { ...authority.issue('partner'), clientAuthority: authority.certificate };
  const callbackKey = newKey('partner-1');
  const secrets = { light: { outlayKeys: [], callbackKey, tls } };
  const partner = await openWithSecrets(behavior, secrets);
  try {
    const client = { ...authority.issue('outlay'), authority: authority.certificate };
    const access = { level: 'tls', ...client, callbackKeys: [callbackKey] };
    const ran = await run(`https://127.0.0.1:${partner.port}`, { access, ...payments });
    assert.deepEqual(listFailed(ran), []);
    assert.equal(ran.exitCode, 0);
  } finally {
    await partner.close();
  }
});

describe('with HMAC', () => {
  const key = newKey('outlay-1');
  const callbackKey = newKey('partner-1');
  const access = { level: 'hmac', key, callbackKeys: [callbackKey] };
  let partner: Awaited<ReturnType<typeof openWithSecrets>>;
  let url = '';
  before(async () => {
    partner = await openWithSecrets(behavior, { light: { outlayKeys: [key], callbackKey } });
    url = `http://127.0.0.1:${partner.port}`;
  });
  after(async () => partner.close());

  test('a partner without defects passes, and a person reads what was checked', async () => {
    const ran = await run(url, { access, ...payments }, []);
    assert.equal(ran.exitCode, 0);
    assert.match(ran.error, /passed {2}cancel-unknown/);
    // The orders of an earlier run.
    assert.match(ran.out, /^\d+ passed, 0 failed, 1 skipped$/m);
  });

  test('missing data of the file is skipped with the reason', async () => {
    const { order } = payments;
    const names = [
      'payment-rejected',
      'payment-returned',
      'callback-authentic',
      'callback-repeated',
    ];
    const description = { access: { ...access, callbackKeys: [] }, order };
    const results = await checkRules(url, description, { names: ['health', ...names] });
    const skipped = results.filter(({ result }) => result === 'skipped');
    assert.deepEqual(
      skipped.map(({ name }) => name),
      names,
    );
    assert.ok(skipped.every(({ detail = '' }) => detail !== ''));
  });

  const found: Readonly<Record<Defect, readonly string[]>> = {
    reports_failing: ['health'],
    ignores_authentication: [
      'authentication-missing',
      'authentication-wrong-key',
      'authentication-changed-body',
      'batch-authentication',
    ],
    accepts_expired: ['expired-order', 'batch-authentication'],
    refuses_unknown_as_malformed: ['unknown-reference', 'batch-query'],
    fails_on_malformed: ['malformed-order', 'malformed-cancellation'],
    changes_amounts: ['payment-paid', 'batch-orders'],
    rejects_without_reason: ['payment-rejected'],
    hides_returns: ['payment-returned'],
    books_again: ['duplicate-order', 'concurrent-orders'],
    takes_conflicts: ['conflicting-order'],
    forgets_cancellations: ['cancel-unknown'],
    cancels_paid: ['cancel-paid'],
    ignores_cancel_body: ['malformed-cancellation'],
    reorders_events: ['events-stable'],
    loses_events: ['events-complete'],
    forges_callbacks: ['callback-authentic'],
    posts_callbacks_once: ['callback-repeated'],
    changes_capabilities: ['capabilities'],
    books_incomplete_orders: ['required-fields'],
    matches_every_account: ['account-check'],
    states_balances_as_numbers: ['balances'],
    states_rates_as_numbers: ['prices'],
    ignores_price_limits: ['price-limit'],
    books_batch_orders_again: ['batch-repeated'],
    takes_conflicting_batches: ['batch-conflict'],
    refuses_batches_as_a_whole: ['batch-partly'],
    ignores_batch_limits: ['batch-limits'],
    forgets_batches: ['batch-query'],
    hides_bookings: ['booked-events'],
    repeats_members: ['answers'],
    states_times_without_zone: ['events-complete', 'callback-authentic'],
    rejects_paid: ['outcomes-final'],
    pays_canceled: ['outcomes-final'],
  };
  for (const [defect, names] of Object.entries(found)) {
    test(`a partner that ${defect.replaceAll('_', ' ')} is found`, async () => {
      const { options } = partner.state;
      options.defects = [defect as Defect];
      // A payment that is paid before it can be canceled shows nothing.
      if (defect === 'pays_canceled') options.settleMs = 400;
      const isFinal = names.includes('outcomes-final');
      const before = isFinal ? ['payment-paid', 'cancel-booked'] : [];
      const endMs = defect === 'rejects_paid' ? neverPaidMs : patienceMs;
      const checked = await checkRules(
        url,
        { access, ...payments },
        // The payments of the rules before have to end.
        { names: [...before, ...names], waitMs: isFinal ? endMs : defectWaitMs },
      );
      const results = checked.filter(({ name }) => names.includes(name));
      options.defects = [];
      options.settleMs = behavior.settleMs;
      assert.deepEqual(
        results.map(({ name, result }) => `${name} ${result}`).toSorted(),
        names.map((name) => `${name} failed`).toSorted(),
      );
    });
  }

  test('orders of an earlier run are asked for again, and those that were forgotten are found', async () => {
    const file = join(folder, 'earlier.json');
    const description = { access, ...payments };
    const first = readHistory(file);
    const names = ['payment-paid', 'payment-rejected', 'cancel-unknown', 'expired-order'];
    await checkRules(url, description, { names, history: first });
    writeHistory(file, first);
    const again = { names: ['earlier-orders'], history: readHistory(file) };
    const [kept] = await checkRules(url, description, again);
    assert.equal(kept?.result, 'passed', kept?.detail);
    const other = await openWithSecrets(behavior, { light: { outlayKeys: [key], callbackKey } });
    try {
      const history = readHistory(file);
      const otherUrl = `http://127.0.0.1:${other.port}`;
      const [lost] = await checkRules(otherUrl, description, { ...again, history });
      assert.equal(lost?.result, 'failed');
      assert.match(lost.detail ?? '', /was (?:paid|rejected), and is unknown now/);
    } finally {
      await other.close();
    }
  });

  test('an answer without the time is found, with request, answer and rule', async () => {
    const fault: Fault = {
      on: 'any',
      kind: 'no_time',
      share: 1,
      count: null,
      pattern: '',
      delayMs: 0,
    };
    partner.state.options.faults = [fault];
    const [rule] = await checkRules(url, { access, ...payments }, { names: ['answers'] });
    partner.state.options.faults = [];
    assert.equal(rule?.result, 'failed');
    assert.match(rule.detail ?? '', /Outlay-Time must be seconds/);
    assert.equal(rule.exchanges?.length, 1);
  });

  test('a file or an address that is not valid is a fault of usage', async () => {
    const wrong = await run(url, { access: { level: 'none' }, order: {} }, []);
    assert.equal(wrong.exitCode, 2);
    assert.match(wrong.error, /access\.level/);
    assert.equal((await run('ftp://a', { access, ...payments })).exitCode, 2);
    const closed = await run('http://127.0.0.1:9', { access, ...payments });
    assert.equal(closed.exitCode, 1);
    assert.ok(listFailed(closed).includes('health'));
  });
});
