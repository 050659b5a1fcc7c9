import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import sharp from 'sharp';
import { AppError } from '../core/errors.ts';
import { type ImageType, imageTypes, prepareImages, readUpload } from './intake.ts';
import { createUploadGate } from './upload-gate.ts';

/** An image whose four corners differ, so that every rotation and reflection is distinct. */
function drawCorners(width = 64, height = 40) {
  const pixels = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = (y * width + x) * 3;
      pixels[at] = x < width / 2 ? 230 : 20;
      pixels[at + 1] = y < height / 2 ? 230 : 20;
      pixels[at + 2] = 120;
    }
  }
  return sharp(pixels, { raw: { width, height, channels: 3 } });
}

const png = await drawCorners().png().toBuffer();
const jpeg = await drawCorners().jpeg({ quality: 95 }).toBuffer();

const item = (type: ImageType, bytes: Buffer) => ({ type, content: bytes.toString('base64') });
const upload = (bytes: Buffer) => imageTypes.map((type) => item(type, bytes));

function faultsOf(work: () => unknown): { code: string; faults: [string, string][] } {
  try {
    work();
  } catch (error) {
    return readFaults(error);
  }
  throw new Error('nothing was refused');
}

function readFaults(error: unknown): { code: string; faults: [string, string][] } {
  if (!(error instanceof AppError)) throw error;
  const faults = (error.options.faults ?? []).map((fault): [string, string] => [
    fault.pointer ?? '',
    fault.code,
  ]);
  return { code: error.code, faults };
}

/** Prepares images as those of one upload, so that they share a decoder. */
async function prepare(images: readonly Buffer[]) {
  const items = images.map((bytes) => readUpload(upload(bytes))[0] ?? assert.fail());
  const prepared = await prepareImages(items);
  assert.equal(prepared.length, images.length);
  return prepared;
}

async function refusalOf(bytes: Buffer): Promise<string> {
  const [first] = readUpload(upload(bytes));
  assert.ok(first);
  try {
    await prepareImages([first]);
  } catch (error) {
    const { code, faults } = readFaults(error);
    assert.equal(code, 'invalid_request');
    assert.equal(faults[0]?.[0], '/0/content');
    return faults[0]?.[1] ?? '';
  }
  return 'accepted';
}

test('an upload of one image of each type, in any order, is read', () => {
  const items = upload(png).toReversed();
  const read = readUpload(items);
  assert.deepEqual(
    read.map((one) => [one.type, one.pointer, one.bytes.equals(png)]),
    [
      ['document-back', '/0', true],
      ['document-front', '/1', true],
      ['face', '/2', true],
    ],
  );
});

test('all faults of the form are reported at once, each with its pointer', () => {
  const items = [
    { type: 'face', content: 'AAA' },
    { type: 'face', content: 5 },
    { type: 'passport' },
    item('document-back', png),
  ];
  assert.deepEqual(
    faultsOf(() => readUpload(items)),
    {
      code: 'invalid_request',
      faults: [
        ['', 'invalid_length'],
        ['/0/content', 'invalid_base64'],
        ['/1/type', 'duplicate'],
        ['/1/content', 'invalid_type'],
        ['/2/type', 'invalid_value'],
        ['/2/content', 'required'],
      ],
    },
  );
  for (const body of [null, {}, 'x', 3]) {
    assert.deepEqual(faultsOf(() => readUpload(body)).faults, [['', 'invalid_type']]);
  }
  assert.deepEqual(faultsOf(() => readUpload([null, [], 'x'])).faults, [
    ['/0', 'invalid_type'],
    ['/1', 'invalid_type'],
    ['/2', 'invalid_type'],
  ]);
});

test('only padded, canonical Base64 of the standard alphabet is accepted', () => {
  const wrong = [
    '',
    'A',
    'AA',
    'AA=',
    'AB==',
    'AAB=',
    'AA==\n',
    ' AA==',
    'A-_A',
    '====',
    'AA==AA==',
  ];
  for (const content of [...wrong, `data:image/png;base64,${png.toString('base64')}`]) {
    const items = upload(png);
    items[1] = { type: 'document-front', content };
    assert.deepEqual(
      faultsOf(() => readUpload(items)).faults,
      [['/1/content', 'invalid_base64']],
      content.slice(0, 30),
    );
  }
});

test('10 MiB of Base64 are accepted, four more characters give 413', () => {
  const content = 'A'.repeat(10_485_760);
  const items = [{ type: 'face', content }, ...upload(png).slice(1)];
  assert.equal(readUpload(items)[0]?.bytes.length, 7_864_320);
  const larger = [{ type: 'face', content: `${content}AAAA` }, ...upload(png).slice(1)];
  assert.deepEqual(
    faultsOf(() => readUpload(larger)),
    {
      code: 'body_too_large',
      faults: [['/0/content', 'too_large']],
    },
  );
});

test('PNG and JPEG become JPEG without any metadata', async () => {
  const tagged = await drawCorners()
    .withExif({ IFD0: { Artist: 'Somebody', Copyright: 'Secret words' } })
    .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/"><a>Secret words</a></x:xmpmeta>')
    .jpeg()
    .toBuffer();
  assert.ok(tagged.includes('Secret words'));
  for (const image of await prepare([png, jpeg, tagged])) {
    const metadata = await sharp(image.bytes).metadata();
    assert.equal(metadata.format, 'jpeg');
    assert.deepEqual([image.width, image.height], [64, 40]);
    for (const kind of ['exif', 'xmp', 'icc', 'iptc', 'orientation', 'comments'] as const) {
      assert.equal(metadata[kind], undefined, kind);
    }
    assert.ok(!image.bytes.includes('Secret'));
  }
});

test('all eight EXIF orientations end upright', async () => {
  const turned = await Promise.all(
    [1, 2, 3, 4, 5, 6, 7, 8].map((orientation) =>
      sharp(jpeg).withMetadata({ orientation }).jpeg({ quality: 95 }).toBuffer(),
    ),
  );
  const images = await prepare(turned);
  for (const [place, image] of images.entries()) {
    const upright = sharp(turned[place]).autoOrient().raw();
    const expected = await upright.toBuffer({ resolveWithObject: true });
    const { data } = await sharp(image.bytes).raw().toBuffer({ resolveWithObject: true });
    assert.deepEqual([image.width, image.height], [expected.info.width, expected.info.height]);
    const distance = data.reduce(
      (largest, value, index) => Math.max(largest, Math.abs(value - (expected.data[index] ?? 0))),
      0,
    );
    // A wrong rotation would swap 230 and 20; two JPEG codings of these edges differ by less than 80.
    assert.ok(distance < 80, `orientation ${place + 1}: ${distance}`);
  }
});

test('unusual but valid images are accepted: 1 x 1, grey, palette, 16 bit, transparent, CMYK', async () => {
  const corners = await drawCorners().png().toBuffer();
  const images = [
    await drawCorners(1, 1).png().toBuffer(),
    await sharp(corners).greyscale().jpeg().toBuffer(),
    await sharp(corners).png({ palette: true, colours: 4 }).toBuffer(),
    await sharp(corners).toColourspace('rgb16').png().toBuffer(),
    await sharp(corners).ensureAlpha(0.5).png({ progressive: true }).toBuffer(),
    await sharp(corners).toColourspace('cmyk').jpeg().toBuffer(),
    await sharp(corners).jpeg({ progressive: true }).toBuffer(),
  ];
  // An image that is refused would fail the whole upload, with its fault.
  await prepare(images);
});

test('content that is neither PNG nor JPEG by its bytes is rejected', async () => {
  const others = [
    await drawCorners().webp().toBuffer(),
    await drawCorners().gif().toBuffer(),
    await drawCorners().tiff().toBuffer(),
    Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    Buffer.from('%PDF-1.7 not a picture'),
    Buffer.concat([Buffer.from('GIF89a'), png]),
  ];
  for (const bytes of others) assert.equal(await refusalOf(bytes), 'unsupported_image');
});

test('a truncated or damaged image is rejected', async () => {
  for (const bytes of [png, jpeg]) {
    for (const part of [0.2, 0.5, 0.9]) {
      assert.equal(await refusalOf(bytes.subarray(0, bytes.length * part)), 'damaged_image');
    }
    assert.equal(await refusalOf(bytes.subarray(0, bytes.length - 1)), 'damaged_image');
  }
  const flipped = Buffer.from(png);
  const middle = Math.floor(png.length / 2);
  flipped[middle] = (flipped[middle] ?? 0) ^ 0xff;
  assert.equal(await refusalOf(flipped), 'damaged_image');
  // An intact container around damaged scan data.
  const scan = jpeg.indexOf(Buffer.from([0xff, 0xda])) + 14;
  const holed = Buffer.concat([jpeg.subarray(0, scan), Buffer.from([0xff, 0xd9])]);
  assert.equal(await refusalOf(holed), 'damaged_image');
});

test('a second file behind the image is rejected, a camera trailer is cut off', async () => {
  for (const bytes of [png, jpeg]) {
    for (const tail of ['PK\x03\x04 a zip', '%PDF-1.4', '<script>alert(1)</script>']) {
      const polyglot = Buffer.concat([bytes, Buffer.from(tail, 'latin1')]);
      assert.equal(await refusalOf(polyglot), 'trailing_data');
    }
  }
  const film = Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypmp42 and the film')]);
  const trailers = [jpeg, film, Buffer.from('some data of the maker SEFT')];
  await prepare([
    ...[png, jpeg].map((bytes) => Buffer.concat([bytes, Buffer.alloc(512)])),
    ...trailers.map((trailer) => Buffer.concat([jpeg, trailer])),
  ]);
});

test('animated and oversized images are rejected before they are decoded', async () => {
  const control = Buffer.from('0000000861 63544c 0000000200000000'.replaceAll(' ', ''), 'hex');
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(control.subarray(4)));
  const animated = Buffer.concat([png.subarray(0, 33), control, sum, png.subarray(33)]);
  assert.equal(await refusalOf(animated), 'animated_image');
  for (const [width, height] of [
    [10_001, 10],
    [10, 10_001],
  ] as const) {
    const flat = { create: { width, height, channels: 3 as const, background: '#336699' } };
    assert.equal(await refusalOf(await sharp(flat).png().toBuffer()), 'image_too_large');
    assert.equal(await refusalOf(await sharp(flat).jpeg().toBuffer()), 'image_too_large');
  }
  assert.equal(await refusalOf(claimSize(8_000, 5_001)), 'image_too_large');
});

/** An image whose header states another size. */
function claimSize(width: number, height: number): Buffer {
  const claiming = Buffer.from(png);
  claiming.writeUInt32BE(width, 16);
  claiming.writeUInt32BE(height, 20);
  claiming.writeUInt32BE(crc32(claiming.subarray(12, 29)), 29);
  return claiming;
}

test('a header that states more pixels than the data has is rejected', async () => {
  assert.equal(await refusalOf(claimSize(6_000, 6_000)), 'damaged_image');
});

test('a large image is stored with at most 3,000 pixels a side', async () => {
  const flat = {
    create: { width: 3_200, height: 2_000, channels: 3 as const, background: '#369' },
  };
  const [image] = await prepare([await sharp(flat).jpeg().toBuffer()]);
  assert.deepEqual([image?.width, image?.height], [3_000, 1_875]);
});

test('every unusable image is named', async () => {
  const items = [item('face', jpeg.subarray(0, 300)), item('document-front', png)];
  items.push(item('document-back', Buffer.from('text')));
  await assert.rejects(prepareImages(readUpload(items)), (error) => {
    assert.deepEqual(readFaults(error).faults, [
      ['/0/content', 'damaged_image'],
      ['/2/content', 'unsupported_image'],
    ]);
    return true;
  });
});

test('uploads beyond the queue get Retry-After, the others run in turn', async () => {
  const gate = createUploadGate({ runningMax: 1, waitingMax: 1 });
  const order: string[] = [];
  const finish: (() => void)[] = [];
  const work = (name: string) =>
    gate.run(async () => {
      order.push(name);
      await new Promise<void>((resolve) => finish.push(resolve));
    });
  const first = work('first');
  const second = work('second');
  await assert.rejects(work('third'), (error) => {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, 'unavailable');
    assert.equal(error.options.retryAfterSeconds, 2);
    return true;
  });
  finish.shift()?.();
  await first;
  await new Promise(setImmediate);
  assert.deepEqual(order, ['first', 'second']);
  finish.shift()?.();
  await second;
  const fourth = work('fourth');
  await new Promise(setImmediate);
  finish.shift()?.();
  await fourth;
  assert.deepEqual(order, ['first', 'second', 'fourth']);
});
