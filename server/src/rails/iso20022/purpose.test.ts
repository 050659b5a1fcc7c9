import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeConfig, makeInstruction, testPayers } from '../../../testing/setups/iso20022.ts';
import { configSchema } from './config.ts';
import { groupTransfers, writePaymentFile } from './pain001.ts';
import { deriveUetr } from './purpose.ts';
import { draftTransfer } from './transfer.ts';

const config = makeConfig('/nowhere', {
  categoryPurposes: { SALARY: 'SALA' },
  corridors: [
    {
      countries: ['IND'],
      regulatoryReporting: {
        indicator: 'CRED',
        authority: 'Reserve Bank of India',
        authorityCountry: 'IN',
        type: 'Purpose code',
        codes: { SERVICES: 'P0802' },
      },
    },
    { countries: ['BRA'], isPurposeRequired: true },
  ],
});

function makeDraft(countryCode: string, reason: string | undefined) {
  const attributes: Record<string, string> = {
    BankAccountNumber: '50100012345678',
    SWIFT: countryCode === 'IND' ? 'HDFCINBB' : 'OTLYBR22XXX',
  };
  if (reason !== undefined) attributes['RemittanceReason'] = reason;
  const instruction = makeInstruction({
    payerKey: 'world',
    countryCode,
    currency: 'USD',
    attributes,
  });
  return draftTransfer(instruction, { config, payers: testPayers });
}

function write(...drafts: ReturnType<typeof draftTransfer>[]): string {
  const transfers = drafts.map((draft) => {
    assert.ok(draft.ok);
    return draft.transfer;
  });
  const file = { createdAtMs: 0, executionDay: '2026-03-04' };
  return writePaymentFile({ ...groupTransfers(transfers, { prefix: 'T1' }), ...file }, config);
}

const listFaults = (draft: ReturnType<typeof draftTransfer>) =>
  draft.ok ? [] : draft.faults.map(({ field, code }) => `${field} ${code}`);

describe('regulatory reporting', () => {
  const report = (code: string) =>
    '<RgltryRptg><DbtCdtRptgInd>CRED</DbtCdtRptgInd>' +
    '<Authrty><Nm>Reserve Bank of India</Nm><Ctry>IN</Ctry></Authrty>' +
    `<Dtls><Tp>Purpose code</Tp><Ctry>IN</Ctry><Cd>${code}</Cd></Dtls></RgltryRptg>`;

  test("is in the file, by the authority's own code or by the configured one", () => {
    assert.ok(write(makeDraft('IND', 'P1301')).includes(report('P1301')));
    assert.ok(write(makeDraft('IND', 'SERVICES')).includes(report('P0802')));
    assert.ok(!write(makeDraft('BRA', 'SERVICES')).includes('RgltryRptg'));
  });

  test('is asked for before the payment is sent', () => {
    assert.deepEqual(listFaults(makeDraft('IND', undefined)), ['RemittanceReason missing']);
    assert.deepEqual(listFaults(makeDraft('IND', 'GIFT')), ['RemittanceReason invalid']);
    assert.deepEqual(listFaults(makeDraft('BRA', undefined)), ['RemittanceReason missing']);
    assert.deepEqual(listFaults(makeDraft('BRA', 'GIFT')), []);
  });
});

test('salaries are a group of their own, marked by their category of purpose', () => {
  const text = write(makeDraft('BRA', 'SALARY'), makeDraft('BRA', 'GIFT'));
  assert.equal(text.match(/<PmtInf>/g)?.length, 2);
  assert.equal(
    text.match(/<PmtTpInf><CtgyPurp><Cd>SALA<\/Cd><\/CtgyPurp><\/PmtTpInf>/g)?.length,
    1,
  );
});

test('the UETR is a function of reference and rail, and absent where the form has no place', () => {
  const service = 'cross_border';
  const first = deriveUetr('a', { service, config });
  assert.match(first, /^[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}$/);
  assert.equal(deriveUetr('a', { service, config }), first);
  assert.notEqual(deriveUetr('b', { service, config }), first);
  const other = makeConfig('/nowhere', { messagePrefix: 'T2' });
  assert.notEqual(deriveUetr('a', { service, config: other }), first);
  const old = makeConfig('/nowhere', { version: 'pain.001.001.09' });
  assert.equal(deriveUetr('a', { service: 'sepa', config: old }), '');
  assert.notEqual(deriveUetr('a', { service, config: old }), '');
});

test('codes that no message can carry are refused in the configuration', () => {
  const corridors = [
    {
      countries: ['IND'],
      regulatoryReporting: { indicator: 'CRED', codes: { GIFT: 'longer than ten' } },
    },
  ];
  assert.equal(configSchema.safeParse({ ...config, corridors }).success, false);
});
