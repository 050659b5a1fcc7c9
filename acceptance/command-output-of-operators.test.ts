import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { commandNames, printCommand } from './commands.ts';
import { createRecipient, deliveryCases, pay, type Recipient } from './recipients.ts';
import { createAccount, type Service, startService } from './service.ts';

/**
 * Every command of operators prints JSON with `--json`, and without it all but the screens and files
 * below do. That results are objects is in their types; all of these run in the long form of tests.
 */

let service: Service;
let account: string;
let recipient: Recipient;
let payout: string;
const folder = mkdtempSync(join(tmpdir(), 'outlay-output-'));
const file = join(folder, 'key.pem');

before(async () => {
  service = await startService({ isOwn: true });
  const created = await createAccount(service, { USD: '1000' });
  account = created.credentials.account;
  recipient = await createRecipient(created.api, deliveryCases.bank);
  payout = (await pay(created.api, recipient)).payout_token;
  writeFileSync(file, (await print('receipt key')).trimEnd());
});
after(async () => {
  await service.stop();
  rmSync(folder, { recursive: true });
});

const print = (line: string): Promise<string> => printCommand(service, line.split(' '));

const run = async (line: string): Promise<Record<string, string>> =>
  JSON.parse(await print(`${line} --json`)) as Record<string, string>;

const why = '--reason test';
const of = () => `--account ${account}`;
const user = () => `--user ${recipient.userToken}`;
const pages = () =>
  `${user()} --destination ${recipient.payer.destination_token} --currency ${recipient.delivery.currency}`;
const newKey = async () => {
  const created = await run(`credential create ${of()} --kind api_key --scopes users:read`);
  return `${of()} --credential ${created['credential_id']}`;
};
const newFreeze = async () => {
  await run(`freeze rail --rail sandbox ${why}`).catch(() => undefined);
  await run(`freeze recipient ${user()} ${why}`);
  const listed = (await run('freeze list')) as unknown as { id: string }[];
  return `--freeze ${listed[0]?.id} ${why}`;
};

/** What is printed as text without `--json`. */
const screens: Readonly<Record<string, () => string>> = {
  status: () => '',
  doctor: () => '',
  'env-example': () => '',
  'rail list': () => '',
  'payout explain': () => payout,
  'receipt key': () => '',
  'secret seal': () => `--file ${file}`,
  'report month': () => `--month ${new Date().toISOString().slice(0, 7)} --format csv`,
};

const lines: Readonly<Record<string, () => string | Promise<string>>> = {
  migrate: () => '',
  'ledger verify': () => '',
  'ledger checkpoint': () => '',
  'operator list': () => '',
  'operator create': () => `--name o${Math.random().toString(36).slice(2)} --role viewer`,
  'operator revoke': async () => {
    const name = `r${Math.random().toString(36).slice(2)}`;
    await run(`operator create --name ${name} --role viewer`);
    return `--name ${name} ${why}`;
  },
  'policy list': () => '',
  'approval list': () => '',
  'audit list': () => '',
  'account list': () => '',
  'account create': () => '--name Another',
  'account fund': () => `${of()} --currency USD --amount 10 --reference one ${why}`,
  'account adjust': () => `${of()} --currency USD --amount 1 --reference two ${why}`,
  'account bookings': of,
  'suspense list': () => '',
  'suspense clear': () => `${payout} --currency MXN --amount 1 --reference three ${why}`,
  'account set': () => `${of()} --accept-both-tokens true`,
  'account sender': of,
  'account set-sender': () => `${of()} --legal-name Sol --country MEX ${why}`,
  'limit list': of,
  'limit set': () => `${of()} --name day --per account --hours 24 --usd 1000 ${why}`,
  'limit remove': async () => {
    await run(`limit set ${of()} --name gone --per account --hours 24 --usd 1000 ${why}`);
    return `${of()} --name gone ${why}`;
  },
  'rule show': () => '',
  'rule set': () => `--policy {"rules":[]} ${why}`,
  'rule preview': () => '--policy {"rules":[]}',
  'routing backtest': () => '--changes {"payers":[]}',
  'credential list': of,
  'credential create': () => `${of()} --kind api_key --scopes users:read`,
  'credential revoke': newKey,
  'credential rotate': newKey,
  'user hold': () => `${user()} --until 2999-01-01 ${why}`,
  'user release-hold': async () => {
    const hold = await run(`user hold ${user()} --until 2999-01-01 ${why}`);
    return `--hold ${hold['hold']} ${why}`;
  },
  'user holds': () => '',
  'link details': pages,
  'link verification': user,
  'link status': () => `${user()} --payout ${payout}`,
  'link list': user,
  'key list': () => '',
  'key rotate': () => '',
  'key remove-old': () => '',
  'environment-key list': () => '',
  'exception list': () => '',
  'payout list': () => '',
  'payout margin': () => payout,
  'recovery show': () => '',
  'sending stop': () => why,
  'sending resume': async () => {
    await run(`sending stop ${why}`);
    return why;
  },
  'sending drain': () => why,
  'sending undrain': async () => {
    await run(`sending drain ${why}`);
    return why;
  },
  'sending show': () => '',
  'freeze account': () => `${of()} ${why}`,
  'freeze recipient': () => `${user()} ${why}`,
  'freeze corridor': () => `--country MEX ${why}`,
  'freeze rail': () => `--rail sandbox ${why}`,
  'freeze list': () => '',
  'freeze lift': newFreeze,
  'rates list': () => '',
  'tariff list': () => '--country MEX',
  'rail check': () => '',
  'screening show': user,
  'screening evidence': user,
  'screening opinions': () => `--payout ${payout}`,
  'screening waiting': () => '',
  'screening clearances': () => '',
  'identity list': () => '',
  'identity show': user,
};

const isLong = process.env['OUTLAY_TEST_LONG'] === '1';
/** Those that have nothing to tell but that it was done. */
const changed = [
  'migrate',
  'operator revoke',
  'account set',
  'credential revoke',
  'screening show',
];

/**
 * The service itself, and what needs a file, an upload, a rail of a bank, a second person, more than a
 * minute, or the name of a cell.
 */
const others = `all, serve, work, ledger export, report journal, proof verify, receipt verify,
  rates import, operator renew-key, operator invite, policy set, approval withdraw, credential budget, user erase,
  link revoke, exception close, payout decide, payout cancel, recovery release, rail message,
  screening import, screening decide, screening clear, screening end-clearance, identity decide,
  identity export, identity read, reconciliation import, reconciliation list, reconciliation link,
  reconciliation explain, reconciliation close, environment-key rotate, environment-key rotate-index,
  environment-key destroy-old,
  cell describe`.split(/,\s+/);

const isJson = (text: string): boolean => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
};

describe('a command of operators', () => {
  it('is in one of these lists', () => {
    const listed = [...Object.keys(screens), ...Object.keys(lines), ...others];
    assert.deepEqual(commandNames.toSorted(), listed.toSorted());
  });

  for (const [name, words] of Object.entries(screens)) {
    it(`${name} prints text, and JSON when asked`, async () => {
      const text = await print(`${name} ${words()}`.trim());
      assert.ok(text.trim() !== '' && !isJson(text), text);
      assert.doesNotMatch(text, /\u001B/);
      const json = await print(`${name} ${words()}`.trim().concat(' --json'));
      assert.ok(isJson(json), json);
    });
  }

  for (const name of isLong ? Object.keys(lines) : changed) {
    it(`${name} prints JSON`, async () => {
      const printed = await print(`${name} ${await lines[name]?.()}`.trim());
      assert.ok(isJson(printed), printed);
    });
  }
});
