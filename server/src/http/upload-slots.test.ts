import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../core/errors.ts';
import { createUploadSlots, type UploadKind, uploadLimits } from './upload-slots.ts';

type Upload = Parameters<ReturnType<typeof createUploadSlots>['take']>[0];

const upload = (accountId: string, changes: Partial<Upload> = {}): Upload => ({
  environment: 'live',
  kind: 'images',
  owner: { accountId },
  ...changes,
});

const isFull = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'unavailable';

test('an account has its limit for each kind and environment', () => {
  for (const kind of ['images', 'batches'] satisfies UploadKind[]) {
    const slots = createUploadSlots();
    for (let taken = 0; taken < uploadLimits[kind].perAccount; taken += 1) {
      slots.take(upload('a', { kind }));
    }
    assert.throws(() => slots.take(upload('a', { kind })), isFull);
    slots.take(upload('b', { kind }));
    slots.take(upload('a', { kind, environment: 'staging' }));
    slots.take(upload('a', { kind: kind === 'images' ? 'batches' : 'images' }));
  }
});

test('all accounts together have the limit of the service', () => {
  const slots = createUploadSlots();
  const { total } = uploadLimits.images;
  for (let taken = 0; taken < total; taken += 1) slots.take(upload(`account ${taken}`));
  assert.throws(() => slots.take(upload('another')), isFull);
  slots.take(upload('another', { environment: 'staging' }));
});

test('a verification link has one upload and uses no slot of its account', () => {
  const slots = createUploadSlots();
  const byLink = (linkId: string): Upload => upload('a', { owner: { accountId: 'a', linkId } });
  slots.take(byLink('1'));
  assert.throws(() => slots.take(byLink('1')), isFull);
  slots.take(byLink('2'));
  assert.throws(() => slots.take(byLink('3')), isFull);
  slots.take(upload('a'));
});

test('a slot is freed once, even if the function is called repeatedly', () => {
  const slots = createUploadSlots();
  const giveBack = slots.take(upload('a'));
  slots.take(upload('a'));
  giveBack();
  giveBack();
  slots.take(upload('a'));
  assert.throws(() => slots.take(upload('a')), isFull);
});
