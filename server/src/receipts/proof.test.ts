import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import jsqr from 'jsqr';
import sharp from 'sharp';
import { receiptOf } from '../../testing/setups/receipt.ts';
import { createKeyRing, newDataKey } from '../core/sealing.ts';
import { readAttachments } from './attachments.ts';
import { composeReceipt } from './document.ts';
import { createProof, signFile, verifyCode, verifyReceipt } from './proof.ts';
import { closeReceipts, renderReceipt } from './receipt.ts';
import { layOut } from './worker.ts';

after(() => closeReceipts());

const { signing } = createKeyRing(newDataKey());
const other = createKeyRing(newDataKey()).signing;
const data = receiptOf({ recipientName: '王小明' });
const pdf = await renderReceipt(data, signing);

test('a receipt verifies with the public key alone, and has its data as JSON', () => {
  const { key_id, receipt } = verifyReceipt(pdf, signing.publicPem);
  assert.equal(key_id, signing.id);
  assert.deepEqual(receipt, JSON.parse(createProof(data, signing).record));
  const { payout_token, recipient, total_debit, refund_amount } = receipt as Record<string, string>;
  assert.equal(payout_token, data.payoutToken);
  assert.equal(recipient, '王小明');
  assert.equal(total_debit, '1253.5');
  assert.equal(refund_amount, undefined);
});

test('the key of another environment does not verify it', () => {
  assert.throws(() => verifyReceipt(pdf, other.publicPem), /another key/);
  assert.throws(() => verifyReceipt(pdf, 'not a key'), /public key in PEM/);
});

test('a change of any byte is found', () => {
  const step = Math.ceil(pdf.length / 300);
  const places = [
    ...Array.from({ length: 300 }, (_, index) => index * step),
    ...Array.from({ length: 120 }, (_, index) => pdf.length - 1 - index),
  ].filter((place) => place < pdf.length);
  for (const place of places) {
    const changed = Buffer.from(pdf);
    changed.writeUInt8(changed.readUInt8(place) ^ 1, place);
    assert.throws(() => verifyReceipt(changed, signing.publicPem), { message: /./ }, `${place}`);
  }
  assert.throws(() => verifyReceipt(Buffer.concat([pdf, Buffer.from(' ')]), signing.publicPem));
  assert.throws(() => verifyReceipt(pdf.subarray(0, -1), signing.publicPem));
});

test('another page with genuine data attached is refused, and the error has the genuine data', () => {
  const changed = Buffer.concat([pdf, Buffer.from('%%EOF')]);
  assert.throws(() => verifyReceipt(changed, signing.publicPem), {
    message: new RegExp(`do not trust its page[^]*${data.payoutToken}`),
  });
  assert.throws(() => verifyReceipt(signFile(pdf, other), signing.publicPem), /do not trust/);
});

test('two attachments of a kind are refused, because one of them was not signed', async () => {
  const second = await renderReceipt(receiptOf({ destinationAmount: '1' }), signing);
  const both = Buffer.concat([pdf, second]);
  assert.deepEqual(readAttachments(both), { record: undefined, signature: undefined });
  assert.throws(() => verifyReceipt(both, signing.publicPem), /not a signed receipt/);
});

test('a file that is no receipt is refused', () => {
  for (const file of [Buffer.alloc(0), Buffer.from('%PDF-1.7\n%%EOF'), Buffer.alloc(100_000, 60)]) {
    assert.throws(() => verifyReceipt(file, signing.publicPem), /not a signed receipt/);
  }
});

test('the QR code of the page verifies by itself', async () => {
  const proof = createProof(data, signing);
  const { compiler, compiled } = await layOut({ document: composeReceipt(data), proof });
  const { data: pixels, info } = await sharp(Buffer.from(compiler.plainSvg(compiled)), {
    density: 100,
    unlimited: true,
  })
    .flatten({ background: '#fff' })
    .ensureAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  const scanned = jsqr.default(new Uint8ClampedArray(pixels), info.width, info.height)?.data ?? '';
  assert.equal(scanned, proof.code);
  const { receipt } = verifyCode(scanned, signing.publicPem);
  assert.deepEqual(receipt, {
    payout_token: data.payoutToken,
    status: 'COMPLETED',
    amount: '23181.25 MXN',
    issued_at: data.issuedOn,
  });
  const [header, , signature] = scanned.split('.');
  const forged = Buffer.from('{"status":"COMPLETED","amount":"99999 MXN"}').toString('base64url');
  assert.throws(() => verifyCode(`${header}.${forged}.${signature}`, signing.publicPem), /changed/);
  assert.throws(() => verifyCode('x', signing.publicPem), /changed/);
});
