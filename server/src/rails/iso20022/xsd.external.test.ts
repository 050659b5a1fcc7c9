import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setBankOptions } from '../../../testing/counterparties/iso20022/bank-simulator.ts';
import {
  describeScheme,
  makeInstruction,
  makeSchemeInstruction,
  noSignal,
  openTestRail,
  schemePayers,
  type TestRail,
} from '../../../testing/setups/iso20022.ts';
import { validateXml } from '../../../testing/setups/xsd.ts';

/**
 * Every kind of file, ours and the simulated bank's, against the schemas of the registration
 * authority, by two builds of libxml2. OUTLAY_SHARED_DATA names the folder that holds `iso20022`.
 */

async function validateFolder(folder: string): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isFile()) continue;
    names.push(await validateXml(await readFile(join(folder, entry.name), 'utf8')));
  }
  return names;
}

/** What comes up in names and texts, in the widest spread. */
const names = [
  'Zoë Ñandú',
  'Œuvre & Fils',
  '李小龍',
  'Ελένη Παπαδοπούλου',
  'Ольга Ё.',
  'X Æ A-12 <b>',
];

const worldwide = [
  { countryCode: 'USA', currency: 'USD', account: '000123456789', BankRoutingNumber: '021000021' },
  {
    countryCode: 'IND',
    currency: 'USD',
    account: '50100012345678',
    BankRoutingNumber: 'HDFC0000001',
  },
  {
    countryCode: 'JPN',
    currency: 'JPY',
    account: '1234567',
    BankRoutingNumber: '0001',
    branch: '001',
  },
  { countryCode: 'BRA', currency: 'USD', account: '12345-6', SWIFT: 'OTLYBR22XXX' },
  { countryCode: 'ARE', currency: 'USD', account: 'AE070331234567890123456', SWIFT: 'OTLYAE22' },
];

const corridors = [
  {
    countries: ['IND'],
    regulatoryReporting: {
      indicator: 'CRED',
      authority: 'Reserve Bank of India',
      authorityCountry: 'IN',
      type: 'Purpose',
    },
  },
  {
    countries: ['ARE'],
    regulatoryReporting: { indicator: 'BOTH' },
  },
];

async function sendWorldwide(rail: TestRail): Promise<void> {
  for (const [index, one] of worldwide.entries()) {
    const { countryCode, currency, account, BankRoutingNumber, SWIFT, branch } = one;
    const attributes: Record<string, string> = {
      BankAccountNumber: account,
      BankName: 'Banco do Café, S.A.',
      RemittanceReason: ['SALARY', 'P1301', 'GIFT', 'FAMILY_SUPPORT', 'FAM'][index] ?? '',
    };
    if (BankRoutingNumber !== undefined) attributes['BankRoutingNumber'] = BankRoutingNumber;
    if (branch !== undefined) attributes['BankAccountBranchNumber'] = branch;
    if (SWIFT !== undefined) attributes['SWIFT'] = SWIFT;
    const instruction = makeInstruction({
      payerKey: 'world',
      countryCode,
      currency,
      attributes,
    });
    const answer = await rail.rail.send(instruction, { signal: noSignal });
    assert.equal(answer.outcome, 'accepted', countryCode);
  }
}

async function sendSepa(rail: TestRail, payerKey = 'eu'): Promise<void> {
  for (const name of names) {
    const instruction = makeInstruction({ payerKey });
    const answer = await rail.rail.send(
      { ...instruction, beneficiary: { ...instruction.beneficiary, businessName: name } },
      { signal: noSignal },
    );
    assert.equal(answer.outcome, 'accepted', name);
  }
}

describe('files of the rail are valid', () => {
  for (const version of ['pain.001.001.09', 'pain.001.001.10'] as const) {
    test(`instant payments by ${version}, and the answers to them`, async () => {
      const rail = await openTestRail({ version, categoryPurposes: { SALARY: 'SALA' } });
      try {
        const rules = [{ match: { amount: '101.00' }, decision: 'contradict' as const }];
        await setBankOptions(rail.folder, { rules });
        await sendSepa(rail, 'instant');
        const instruction = makeInstruction({ payerKey: 'instant', amountMinor: 10_100n });
        const attributes = { ...instruction.attributes, RemittanceReason: 'SALARY' };
        await rail.rail.send({ ...instruction, attributes }, { signal: noSignal });
        await rail.work();
        assert.deepEqual(await validateFolder(join(rail.folder, 'outbox')), [version]);
        await rail.bank.advance(rail.clock.nowMs);
        const answers = await validateFolder(join(rail.folder, 'inbox'));
        assert.deepEqual(answers.toSorted(), [
          'camt.054.001.08',
          'pain.002.001.11',
          'pain.002.001.11',
        ]);
      } finally {
        await rail.close();
      }
    });

    test(`SEPA payments by ${version}`, async () => {
      const rail = await openTestRail({ version });
      try {
        await sendSepa(rail);
        await rail.work();
        const written = await validateFolder(join(rail.folder, 'outbox'));
        assert.deepEqual(written, [version]);
      } finally {
        await rail.close();
      }
    });
  }

  test('payments around the world by pain.001.001.10', async () => {
    const rail = await openTestRail({ corridors, categoryPurposes: { SALARY: 'SALA' } });
    try {
      await sendWorldwide(rail);
      await sendSepa(rail);
      await rail.work();
      const written = await validateFolder(join(rail.folder, 'outbox'));
      assert.deepEqual(written, ['pain.001.001.10', 'pain.001.001.10']);
    } finally {
      await rail.close();
    }
  });
});

for (const profile of ['fednow', 'rtp'] as const) {
  test(`messages to ${profile} and the answers to them are valid`, async () => {
    const settings = { ...describeScheme(profile), categoryPurposes: { SALARY: 'SALA' } };
    const rail = await openTestRail(settings, schemePayers);
    try {
      await setBankOptions(rail.folder, {
        rules: [{ match: { amount: '101.00' }, decision: 'reject' }],
        settleAfterMs: 60_000,
      });
      for (const amountMinor of [10_000n, 10_100n]) {
        const instruction = makeSchemeInstruction({ amountMinor });
        const attributes = { ...instruction.attributes, RemittanceReason: 'SALARY' };
        await rail.rail.send({ ...instruction, attributes }, { signal: noSignal });
      }
      await rail.work();
      const written = await validateFolder(join(rail.folder, 'outbox'));
      assert.deepEqual(written, ['pacs.008.001.09', 'pacs.008.001.09']);
      await rail.bank.advance(rail.clock.nowMs);
      // A second copy of a message is rejected as a whole.
      const copy = await readdir(join(rail.folder, 'archive'));
      const text = await readFile(join(rail.folder, 'archive', copy[0] ?? ''));
      await writeFile(join(rail.folder, 'outbox', 'copy.xml'), text);
      await rail.bank.advance(rail.clock.nowMs);
      const answers = await validateFolder(join(rail.folder, 'inbox'));
      assert.deepEqual(
        answers,
        Array.from({ length: 3 }, () => 'pacs.002.001.11'),
      );
    } finally {
      await rail.close();
    }
  });
}

test('answers of the simulated bank are valid', async () => {
  const rail = await openTestRail();
  try {
    await setBankOptions(rail.folder, {
      rules: [
        { match: { amount: '101.00' }, decision: 'reject' },
        { match: { amount: '102.00' }, decision: 'return' },
        { match: { amount: '103.00' }, decision: 'partial_return', returnedAmount: '50.00' },
      ],
      charge: '0.35',
      writesStatements: true,
    });
    for (const amountMinor of [10_000n, 10_100n, 10_200n, 10_300n]) {
      await rail.rail.send(makeInstruction({ amountMinor }), { signal: noSignal });
    }
    await rail.work();
    await rail.bank.advance(rail.clock.nowMs);
    const inbox = join(rail.folder, 'inbox');
    const written = await validateFolder(inbox);
    assert.deepEqual(written.toSorted(), [
      'camt.053.001.08',
      'camt.054.001.08',
      'camt.054.001.08',
      'pain.002.001.11',
    ]);
    // A whole file that is refused has a form of its own.
    await writeFile(join(rail.folder, 'outbox', 'senseless.xml'), '<a/>');
    await rail.bank.advance(rail.clock.nowMs);
    assert.equal((await validateFolder(inbox)).length, 5);
  } finally {
    await rail.close();
  }
});
