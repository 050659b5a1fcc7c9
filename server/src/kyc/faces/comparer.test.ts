import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import sharp from 'sharp';
import {
  drawDocumentWith,
  readGroup,
  type SampleFace,
  takeFace,
} from '../../../testing/documents/faces.ts';
import { drawPage } from '../../../testing/documents/page.ts';
import { WorkerError } from '../confined-worker.ts';
import { compareFaces } from './comparer.ts';
import { describeFaces } from './face-finding.ts';

/** A comparison takes seconds: the short form has one for each result. */
const isLong = process.env['OUTLAY_TEST_LONG'] === '1';

let faces: Record<SampleFace, Buffer>;
let passport: Buffer;
let withoutFace: Buffer;
before(async () => {
  faces = { anna: await takeFace('anna'), berta: await takeFace('berta') };
  passport = await drawDocumentWith('anna');
  withoutFace = await drawPage({ format: 'TD1', zone: [], scale: 8 });
});

async function findBand(selfie: Buffer, document: readonly Buffer[]) {
  const opened = JSON.stringify(await compareFaces({ selfie, document }));
  return describeFaces({ state: 'done', opened });
}

test('the face of a document and of a selfie are compared, also where the document lies on its side', async () => {
  for (const degrees of isLong ? [0, 90, 180] : [90]) {
    const document = await sharp(passport).rotate(degrees).jpeg().toBuffer();
    const { result, similarity } = await findBand(faces.anna, [document, withoutFace]);
    assert.deepEqual([degrees, result, similarity], [degrees, 'compared', 'high']);
  }
  if (isLong) {
    const swapped = await findBand(faces.anna, [withoutFace, passport]);
    assert.equal(swapped.similarity, 'high', 'the sides of a document may be exchanged');
  }
  const other = await findBand(faces.berta, [passport]);
  assert.equal(other.similarity, 'low');
  assert.match(other.score, /^0\.\d\d$/);
});

test('without a second picture, the reason is given and there is no score', async () => {
  const small = await sharp(passport).resize({ width: 700 }).toBuffer();
  const cases = [
    ['selfie_no_face', withoutFace, passport],
    ['selfie_several_faces', readGroup(), passport],
    ['document_no_face', faces.anna, withoutFace],
    ['document_several_faces', faces.anna, readGroup()],
    ['document_too_small', faces.anna, small],
  ] as const;
  for (const [reason, selfie, document] of isLong ? cases : cases.slice(-1)) {
    const found = await findBand(selfie, [document]);
    const nothing = { similarity: '', score: '' };
    assert.deepEqual(found, { result: 'not_compared', ...nothing, reason });
  }
});

test('a picture that cannot be read, and a stop, are failures that are tried again', async () => {
  const broken = { selfie: Buffer.from('no picture'), document: [withoutFace] };
  await assert.rejects(compareFaces(broken), WorkerError);
  await assert.rejects(compareFaces(broken, AbortSignal.timeout(1)), WorkerError);
});

if (isLong) {
  test('a gray picture is compared like one in color', async () => {
    const gray = await sharp(faces.anna).greyscale().jpeg().toBuffer();
    const { result } = await findBand(gray, [passport]);
    assert.equal(result, 'compared');
  });
}
