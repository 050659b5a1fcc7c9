import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeConfig, makeInstruction, testPayers } from '../../../testing/setups/iso20022.ts';
import type { Instruction } from '../contract/contract.ts';
import { sumTransfers } from './message-parts.ts';
import { groupTransfers, writePaymentFile } from './pain001.ts';
import { draftTransfer, type Transfer } from './transfer.ts';
import { checkPaymentFile } from './written-file.ts';

const config = makeConfig('/nowhere', {
  debtors: [
    { key: 'first', name: 'One', iban: 'DE89370400440532013000', currencies: ['EUR'] },
    {
      key: 'second',
      name: 'Two',
      iban: 'FR1420041010050500013M02606',
      currencies: ['USD', 'JPY'],
      country: 'FR',
      town: 'Paris',
    },
  ],
});

function draft(instruction: Instruction): Transfer {
  const result = draftTransfer(instruction, { config, payers: testPayers });
  if (!result.ok) throw new Error(`refused: ${result.faults[0].reason}`);
  return result.transfer;
}

function write(instructions: readonly Instruction[]): string {
  const numbered = groupTransfers(instructions.map(draft), { prefix: 'T1' });
  return writePaymentFile(
    { ...numbered, createdAtMs: Date.parse('2026-03-04T09:00:00Z'), executionDay: '2026-03-04' },
    config,
  );
}

const abroad = {
  payerKey: 'world',
  countryCode: 'USA',
  attributes: { BankAccountNumber: '000123456789', BankRoutingNumber: '021000021' },
};

/** Each group and each payment on its own lines, as the standard orders the elements. */
const expectedFile = `<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.10"><CstmrCdtTrfInitn>
<GrpHdr><MsgId>T1-62c36c2084daf45845f6</MsgId><CreDtTm>2026-03-04T09:00:00Z</CreDtTm>
<NbOfTxs>2</NbOfTxs><CtrlSum>10123.45</CtrlSum><InitgPty><Nm>Outlay Tests GmbH</Nm></InitgPty></GrpHdr>
<PmtInf><PmtInfId>T1-62c36c2084daf45845f6-1</PmtInfId><PmtMtd>TRF</PmtMtd>
<BtchBookg>false</BtchBookg><NbOfTxs>1</NbOfTxs><CtrlSum>123.45</CtrlSum>
<PmtTpInf><SvcLvl><Cd>SEPA</Cd></SvcLvl></PmtTpInf><ReqdExctnDt><Dt>2026-03-04</Dt></ReqdExctnDt>
<Dbtr><Nm>One</Nm></Dbtr><DbtrAcct><Id><IBAN>DE89370400440532013000</IBAN></Id></DbtrAcct>
<DbtrAgt><FinInstnId><Othr><Id>NOTPROVIDED</Id></Othr></FinInstnId></DbtrAgt><ChrgBr>SLEV</ChrgBr>
<CdtTrfTxInf><PmtId><InstrId>0198c0ffee00700080000000000000a1</InstrId>
<EndToEndId>0198c0ffee00700080000000000000a1</EndToEndId><UETR>e10eee79-f842-4339-842e-a43a32ace3c8</UETR></PmtId>
<Amt><InstdAmt Ccy="EUR">123.45</InstdAmt></Amt>
<UltmtDbtr><Nm>Nm InstdAmt Ccy 'EUR' 9 /InstdAmt +amp,</Nm></UltmtDbtr>
<Cdtr><Nm>Zoe Muller-Lukasz</Nm></Cdtr>
<CdtrAcct><Id><IBAN>DE02120300000000202051</IBAN></Id></CdtrAcct>
<RmtInf><Ustrd>0198c0ffee00700080000000000000a1</Ustrd></RmtInf></CdtTrfTxInf></PmtInf>
<PmtInf><PmtInfId>T1-62c36c2084daf45845f6-2</PmtInfId><PmtMtd>TRF</PmtMtd>
<BtchBookg>false</BtchBookg><NbOfTxs>1</NbOfTxs><CtrlSum>10000.00</CtrlSum>
<ReqdExctnDt><Dt>2026-03-04</Dt></ReqdExctnDt>
<Dbtr><Nm>Two</Nm><PstlAdr><TwnNm>Paris</TwnNm><Ctry>FR</Ctry></PstlAdr></Dbtr>
<DbtrAcct><Id><IBAN>FR1420041010050500013M02606</IBAN></Id></DbtrAcct>
<DbtrAgt><FinInstnId><Othr><Id>NOTPROVIDED</Id></Othr></FinInstnId></DbtrAgt><ChrgBr>SHAR</ChrgBr>
<CdtTrfTxInf><PmtId><InstrId>0198c0ffee00700080000000000000a2</InstrId>
<EndToEndId>0198c0ffee00700080000000000000a2</EndToEndId><UETR>4d05b115-4aae-4629-a310-e0412ad6f49c</UETR></PmtId>
<Amt><InstdAmt Ccy="USD">10000.00</InstdAmt></Amt><UltmtDbtr><Nm>Client + Sohne</Nm></UltmtDbtr>
<CdtrAgt><FinInstnId><ClrSysMmbId><ClrSysId><Cd>USABA</Cd></ClrSysId>
<MmbId>021000021</MmbId></ClrSysMmbId></FinInstnId></CdtrAgt>
<Cdtr><Nm>Zoe Muller-Lukasz</Nm><PstlAdr><StrtNm>Rua do Acucar 17</StrtNm><PstCd>01310-100</PstCd>
<TwnNm>Sao Paulo</TwnNm><CtrySubDvsn>SP</CtrySubDvsn><Ctry>BR</Ctry></PstlAdr></Cdtr>
<CdtrAcct><Id><Othr><Id>000123456789</Id><SchmeNm><Cd>BBAN</Cd></SchmeNm></Othr></Id></CdtrAcct>
<Purp><Cd>SALA</Cd></Purp>
<RmtInf><Ustrd>0198c0ffee00700080000000000000a2</Ustrd></RmtInf></CdtTrfTxInf></PmtInf>
</CstmrCdtTrfInitn></Document>
`;

describe('payment files', () => {
  test('a SEPA and a cross-border payment, element by element; client text never becomes markup', () => {
    const text = write([
      makeInstruction({
        reference: '0198c0ffee00700080000000000000a1',
        attributes: { BankAccountNumber: 'DE02120300000000202051' },
        originator: { accountId: 'a', name: '</Nm><InstdAmt Ccy="EUR">9</InstdAmt>&amp;' },
      }),
      makeInstruction({
        ...abroad,
        reference: '0198c0ffee00700080000000000000a2',
        currency: 'USD',
        amountMinor: 1_000_000n,
        attributes: { ...abroad.attributes, RemittanceReason: 'SALARY' },
      }),
    ]);
    const unfold = (xml: string): string => xml.replaceAll('>\n<', '><');
    assert.equal(unfold(text), unfold(expectedFile));
  });

  test('payments are grouped by account, currency and service, with counts and sums', () => {
    const instructions = [
      makeInstruction({ amountMinor: 100n }),
      makeInstruction({ amountMinor: 250n }),
      makeInstruction({ ...abroad, currency: 'USD', amountMinor: 1_000_000n }),
      makeInstruction({ ...abroad, currency: 'JPY', amountMinor: 5_000n }),
    ];
    const text = write(instructions);
    const counts = [...text.matchAll(/<NbOfTxs>(\d+)<\/NbOfTxs><CtrlSum>([\d.]+)</g)];
    assert.deepEqual(
      counts.map(([, count, sum]) => `${count} ${sum}`),
      ['4 15003.50', '2 3.50', '1 5000', '1 10000.00'],
    );
    checkPaymentFile(text, instructions);
  });

  test('the ids are functions of the references, so that a restored database gives them again', () => {
    const one = draft(makeInstruction());
    const two = draft(makeInstruction());
    const first = groupTransfers([one, two], { prefix: 'T1' });
    const again = groupTransfers([two, one], { prefix: 'T1' });
    assert.equal(first.messageId, again.messageId);
    assert.deepEqual(
      first.groups.map(({ id }) => id),
      again.groups.map(({ id }) => id),
    );
    assert.notEqual(first.messageId, groupTransfers([one], { prefix: 'T1' }).messageId);
    const longest = groupTransfers([one], { prefix: 'PREFIX78' }).messageId;
    assert.ok(`${longest}-9999`.length <= 35);
  });

  test('a file that differs from the orders is refused', () => {
    const instruction = makeInstruction({ amountMinor: 10_000n });
    const other = makeInstruction();
    const text = write([instruction]);
    const iban = instruction.attributes['BankAccountNumber'] ?? '';
    const otherIban = other.attributes['BankAccountNumber'] ?? '';
    const wrongs: readonly [string, RegExp][] = [
      [text.replaceAll(iban, otherIban), /another account/],
      [text.replace('>100.00</InstdAmt>', '>1000.00</InstdAmt>'), /another amount/],
      [text.replace('Ccy="EUR"', 'Ccy="USD"'), /another amount/],
      [text.replaceAll('<CtrlSum>100.00', '<CtrlSum>100.01'), /control sum/],
      [text.replaceAll(instruction.reference, other.reference), /was not ordered/],
      [text.replace('<NbOfTxs>1<', '<NbOfTxs>2<'), /instead of/],
      [text.slice(0, -20), /cannot be read back/],
    ];
    checkPaymentFile(text, [instruction]);
    for (const [wrong, fault] of wrongs) {
      assert.throws(() => checkPaymentFile(wrong, [instruction]), fault);
    }
    assert.throws(() => checkPaymentFile(text, [instruction, other]), /instead of 2/);
  });

  test('amounts have the digits of their currency', () => {
    assert.equal(
      sumTransfers([
        { amountMinor: 1n, currency: 'KWD' },
        { amountMinor: 1n, currency: 'EUR' },
        { amountMinor: 1n, currency: 'JPY' },
      ]),
      '1.011',
    );
  });
});
