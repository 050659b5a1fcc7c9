import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { instruct } from '../../../testing/setups/fspiop.ts';
import { readMinor } from '../kit/amounts.ts';
import { configSchema, readSettings } from './config.ts';
import {
  applyParty,
  applyQuote,
  applyQuoteError,
  applyTransferError,
  applyTransferState,
} from './decisions.ts';
import { classifyTransferError, getReason } from './error-codes.ts';
import { quoteSchema, readCallbackPath } from './messages.ts';
import { hasWords, listWantedWords } from './names.ts';
import { isSame, nameTransfer, type Payment, type State } from './payment.ts';

const keyPair = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
});
const written = {
  hubUrl: 'https://hub.example',
  fspId: 'outlay',
  hubFspId: 'hub',
  privateKey: keyPair.privateKey,
  publicKeys: { hub: keyPair.publicKey },
  payer: { idType: 'BUSINESS', id: 'outlay' },
  feeMax: { fixed: { KES: '1.00' }, basisPoints: 100 },
};
const settings = readSettings(configSchema.parse(written));
const nowMs = 1_000_000;

const preimage = Buffer.alloc(32, 5);
const fulfilment = preimage.toString('base64url');
const condition = createHash('sha256').update(preimage).digest('base64url');

const payment: Payment = {
  reference: '0199f5d0-0000-7000-8000-000000000001',
  transferId: nameTransfer('0199f5d0-0000-7000-8000-000000000001'),
  payerKey: 'kenya',
  currency: 'KES',
  amountMinor: 10_000n,
  msisdn: '254700000001',
  wantedWords: ['otieno'],
  originatorName: '',
  payeeFsp: 'wallets',
  startedAtMs: nowMs,
  againAtMs: nowMs + 1000,
  calls: 1,
  lookupKey: 'key',
  quotes: 1,
  quoteId: 'quote',
  quoteRequest: null,
  terms: {
    transferAmount: '100',
    transferMinor: 10_000n,
    condition,
    ilpPacket: 'AA',
    expiresAtMs: nowMs + 60_000,
  },
  transferRequest: null,
  expiresAtMs: nowMs + 60_000,
  posts: 1,
  asks: 0,
  isTaken: false,
  isAbsent: false,
  isAbsentForGood: false,
  isContradicted: false,
  reason: null,
  code: '',
};
const hold = (state: State, changes: Partial<Payment> = {}) => ({
  key: payment.transferId,
  state,
  revision: 1,
  value: { ...payment, ...changes },
});

function quote(changes: object) {
  return quoteSchema.parse({
    transferAmount: { currency: 'KES', amount: '100' },
    expiration: '2030-01-01T00:00:00.000Z',
    ilpPacket: 'AA',
    condition,
    ...changes,
  });
}

test('terms are accepted when the recipient gets the amount and the fee is allowed', () => {
  const kes = (amount: string) => ({ currency: 'KES', amount });
  const cases: [object, string][] = [
    [{}, 'transfer_due'],
    [{ payeeReceiveAmount: kes('100') }, 'transfer_due'],
    [{ transferAmount: kes('102'), payeeFspFee: kes('2') }, 'transfer_due'],
    [{ transferAmount: kes('99'), payeeFspCommission: kes('1') }, 'transfer_due'],
    [{ transferAmount: kes('102.01'), payeeReceiveAmount: kes('100') }, 'quote_fee'],
    [{ payeeReceiveAmount: kes('99.99') }, 'quote_amount'],
    [{ payeeFspFee: kes('1') }, 'quote_amount'],
    [{ transferAmount: { currency: 'UGX', amount: '100' } }, 'quote_amount'],
    [{ transferAmount: kes('100.001'), payeeReceiveAmount: kes('100') }, 'quote_amount'],
  ];
  for (const [changes, expected] of cases) {
    const next = applyQuote(hold('quote'), quote(changes), settings);
    const found = next?.state === 'refused' ? next.value.code : next?.state;
    assert.equal(found, expected, JSON.stringify(changes));
  }
});

test('a quote that failed on the way is requested up to three times', () => {
  assert.equal(applyQuoteError(hold('quote'), '2001')?.state, 'quote_due');
  assert.equal(applyQuoteError(hold('quote', { quotes: 3 }), '2001')?.state, 'refused');
  assert.equal(applyQuoteError(hold('quote'), '5103')?.state, 'refused');
  assert.equal(applyQuoteError(hold('transfer'), '5103'), undefined);
});

test('only a fulfilment that matches the condition proves a payment', () => {
  const committed = { transferState: 'COMMITTED' as const };
  const paid = applyTransferState(hold('transfer'), { ...committed, fulfilment });
  assert.equal(paid?.state, 'paid');
  assert.equal(paid.value.msisdn, '');
  for (const wrong of [undefined, null, 'A'.repeat(43)]) {
    const next = applyTransferState(hold('transfer'), { ...committed, fulfilment: wrong });
    assert.equal(next?.state, 'transfer');
    assert.equal(next.value.isContradicted, true);
  }
  const late = applyTransferState(hold('refused'), { ...committed, fulfilment });
  assert.equal(late?.state, 'paid');
  const never = applyTransferState(hold('refused', { posts: 0 }), { ...committed, fulfilment });
  assert.equal(never, undefined);
});

test('an error ends a transfer only where it is final for that transfer', () => {
  const take = (code: string, changes: Partial<Payment> = {}, isAnswer = false) =>
    applyTransferError(hold('transfer', changes), code, { isAnswer, realNowMs: nowMs })?.state;
  assert.equal(take('3303'), 'refused');
  assert.equal(take('5104'), 'refused');
  assert.equal(take('4001'), 'refused');
  for (const passing of ['1000', '1001', '2001', '2004', '3106', '9999']) {
    assert.equal(take(passing), undefined, passing);
  }
  assert.equal(take('3100'), 'refused', 'the only request');
  assert.equal(take('3100', { posts: 2 }), undefined, 'another one may have arrived');
  assert.equal(take('4300', { asks: 1 }), undefined, 'it may be about a query');
  assert.equal(take('3100', { asks: 1 }), undefined, 'it may be about a query');
  assert.equal(take('3100', { asks: 1 }, true), 'refused');
  assert.equal(take('3100', { posts: 2, isAbsentForGood: true }), 'refused');
  assert.equal(take('3208'), 'transfer');
  // The answer to a repeated request does not apply to the first, which may be carried out.
  for (const code of ['3303', '4001']) {
    assert.equal(take(code, {}, true), 'refused', code);
    assert.equal(take(code, { posts: 2 }, true), undefined, code);
    assert.equal(take(code, { posts: 2, isAbsentForGood: true }, true), 'refused', code);
  }
});

test('a transfer reported as committed without proof is not ended by an error', () => {
  const stored = hold('transfer', { isContradicted: true, isTaken: true });
  for (const isAnswer of [false, true]) {
    assert.equal(applyTransferError(stored, '3303', { isAnswer, realNowMs: nowMs }), undefined);
  }
  assert.equal(applyTransferState(stored, { transferState: 'ABORTED' }), undefined);
  assert.equal(
    applyTransferState(stored, { transferState: 'COMMITTED', fulfilment })?.state,
    'paid',
  );
});

test('a transfer that the hub does not know is sent again until long after its expiration', () => {
  const early = applyTransferError(hold('transfer'), '3208', { isAnswer: false, realNowMs: nowMs });
  assert.equal(early?.value.isAbsent, true);
  assert.equal(early.value.isAbsentForGood, false);
  const late = applyTransferError(hold('transfer'), '3208', {
    isAnswer: false,
    realNowMs: nowMs + 60_000 + 60_000,
  });
  assert.equal(late?.state, 'transfer');
  assert.equal(late.value.isAbsentForGood, true);
});

test('a wallet of another provider or another name is refused after the look-up', () => {
  const party = {
    partyIdInfo: { partyIdType: 'MSISDN', partyIdentifier: '254700000001' },
    name: 'Ada OTIÉNO',
  };
  const from = (wantedFsp: string | undefined) => ({ payeeFsp: 'wallets', wantedFsp });
  assert.equal(applyParty(hold('lookup'), party, from(undefined))?.state, 'quote_due');
  assert.equal(applyParty(hold('lookup'), party, from('wallets'))?.state, 'quote_due');
  assert.equal(applyParty(hold('lookup'), party, from('bank'))?.state, 'refused');
  const other = { ...party, name: 'Another Name' };
  const refused = applyParty(hold('lookup'), other, from(undefined));
  assert.equal(refused?.value.reason, 'name_mismatch');
  assert.equal(applyParty(hold('transfer'), other, from(undefined)), undefined);
});

test('names are compared by their words', () => {
  const { beneficiary } = instruct();
  assert.deepEqual(listWantedWords(beneficiary, 'off'), []);
  assert.deepEqual(listWantedWords(beneficiary, 'last_name'), ['otieno']);
  assert.deepEqual(listWantedWords(beneficiary, 'full_name'), ['ada', 'otieno']);
  assert.ok(hasWords('OTIENO, Ada Wanjiku', ['ada', 'otieno']));
  assert.ok(!hasWords('Ada Otienoh', ['ada', 'otieno']));
  assert.ok(hasWords("Ngũgĩ wa Thiong'o", ['ngugi', 'thiongo']));
});

test('every error of the API has a reason', () => {
  for (let code = 1000; code < 6000; code += 1) assert.ok(getReason(String(code)));
  assert.equal(getReason('3204'), 'account_not_found');
  assert.equal(getReason('5106'), 'currency_refused');
  assert.equal(getReason('9999'), 'other');
  assert.equal(classifyTransferError('3208'), 'absent');
});

test('the identifier of a transfer is a version 5 UUID that never changes', () => {
  assert.equal(payment.transferId, nameTransfer(payment.reference));
  assert.match(
    payment.transferId,
    /^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
});

test('an instruction is the same by amount, currency and wallet', () => {
  const instruction = instruct({
    amountMinor: 10_000n,
    attributes: { PhoneNumber: '+254700000001' },
  });
  assert.ok(isSame(payment, instruction));
  assert.ok(!isSame(payment, { ...instruction, amountMinor: 10_001n }));
  assert.ok(!isSame(payment, { ...instruction, attributes: { PhoneNumber: '+254700000002' } }));
});

test('only callbacks of look-ups, quotes and transfers are read', () => {
  const id = payment.transferId;
  assert.deepEqual(readCallbackPath(`/transfers/${id}`), {
    resource: 'transfers',
    id,
    isError: false,
  });
  assert.deepEqual(readCallbackPath('/parties/MSISDN/254700000001/error'), {
    resource: 'parties',
    id: '254700000001',
    isError: true,
  });
  for (const path of ['', '/', '/transfers', `/bulkTransfers/${id}`, '/parties/IBAN/1234']) {
    assert.equal(readCallbackPath(path), undefined, path);
  }
});

test('configuration errors name the member and no secret', () => {
  const read = (changes: object) => () =>
    readSettings(configSchema.parse({ ...written, ...changes }));
  assert.throws(read({ privateKey: 'secret text' }), /privateKey must be a key in PEM format$/);
  assert.throws(read({ publicKeys: {} }), /must contain the key of the hub/);
  assert.throws(read({ feeMax: { fixed: { KES: '0.001' } } }), /more decimals than KES/);
  assert.throws(read({ feeMax: { fixed: { QQQ: '1' } } }), /QQQ/);
  assert.throws(read({ hubUrl: 'https://hub.example/' }));
  assert.equal(readMinor('1.5', 'KES'), 150n);
  assert.equal(readMinor('1.555', 'KES'), undefined);
});
