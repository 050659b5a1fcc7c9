import { quoteBatch } from '../../src/batches/quote.ts';
import { type ReceiveServices, receiveBatch, type Upload } from '../../src/batches/receive.ts';
import { rowForm } from '../../src/batches/upload.routes.ts';
import { getRate } from '../../src/core/rate.ts';
import { compileCatalog } from '../../src/destinations/catalog.ts';
import { createRateBook } from '../../src/fx/rate-book.ts';
import { createRequestKey, openKeyRecord } from '../../src/http/idempotency.ts';
import { createSandboxRail } from '../../src/rails/sandbox/rail.ts';
import { createMoneyTest, type Owner } from './money.ts';

/** What the tests of batches start from: a catalog, and rates that a test can change. */

export const names = (count: number, prefix: string): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

export type BatchTest = Awaited<ReturnType<typeof createBatchTest>>;

export async function createBatchTest() {
  const money = await createMoneyTest();
  const nowMs = money.clock.nowMs;
  const rail = createSandboxRail({ nowMs, findScript: async () => undefined });
  const catalog = compileCatalog([rail]);
  const payer = catalog.payersIn('MEX').find(({ deliveryType, currencies }) => {
    return deliveryType === 'BANK_DEPOSIT' && currencies.includes('MXN');
  });
  if (payer === undefined) throw new Error('the sandbox has no deposit in Mexico');
  let mid = '18';
  const services: ReceiveServices = {
    db: money.db,
    keys: money.keys,
    clock: money.clock,
    catalog,
    rails: [rail],
    lockSeconds: { national: 900, crypto: 120 },
    limits: { bytesMax: 1_000_000, rowsMax: 10_000, rowBytesMax: 1000 },
    rowForm,
    rates: () =>
      createRateBook(
        [{ base: 'USD', quote: 'MXN', rate: getRate(mid), source: 'test', asOfMs: nowMs() }],
        { maxAgeMs: null, nowMs },
      ),
  };
  const test = {
    money,
    services,
    setRate: (rate: string): void => {
      mid = rate;
    },
    /** From now on the payer's provider quotes prices, and asks this fee in dollars at a rate of 17. */
    setPrice: (fee: string, ageMs = 0): void => {
      const price = {
        rail: rail.name,
        payer_key: payer.key,
        source_currency: 'USD',
        destination_currency: 'MXN',
        rate: '17',
        fee: [{ upTo: null, fixed: fee, basisPoints: 0 }],
        read_at: new Date(nowMs() - ageMs),
        holds_until: null,
        delivery_seconds: null,
      };
      const quoting = { ...rail, readPrices: async () => [] };
      services.catalog = compileCatalog([quoting], nowMs(), [price]);
    },
    /** An account with this much money in cents and a user whose attributes are complete. */
    createOwner: async (usdMinor: bigint): Promise<Owner> => {
      const owner = await money.createOwner({ USD: usdMinor });
      const values = [owner.accountId, owner.userId, payer.destinationToken];
      await money.rows(
        `insert into attribute_sets (account_id, id, user_id, destination_token, currency,
           latest_version, touched_at, created_at)
         values ($1, $2, $2, $3, 'MXN', 1, now(), now())`,
        values,
      );
      await money.rows(
        `insert into attribute_set_versions (account_id, set_id, version, profile_version,
           fingerprint, sealed, is_complete, created_at)
         values ($1, $2, 1, '1', sha256('1'), '1', true, now())`,
        values.slice(0, 2),
      );
      return owner;
    },
    /** Lines of JSON: 100 USD each, but for what the test names. */
    describe: (owner: Owner, transferIds: readonly string[], changes = {}): string[] =>
      transferIds.map((client_transfer_id) =>
        JSON.stringify({
          client_transfer_id,
          user_token: `usr_${owner.userId}`,
          destination_token: payer.destinationToken,
          destination_currency_code: 'MXN',
          source_amount: '100',
          ...changes,
        }),
      ),
    /** Receives lines; the connection breaks after so many of them, where a number is given. */
    receive: (
      owner: Owner,
      lines: readonly string[],
      options: { key?: string; name?: string; breakAfter?: number } = {},
    ) => {
      async function* bytes(): AsyncGenerator<Buffer> {
        for (const [index, line] of lines.entries()) {
          if (index === options.breakAfter) throw new Error('the connection broke');
          yield Buffer.from(`${line}\n`);
        }
      }
      return receiveBatch(services, {
        accountId: owner.accountId,
        format: 'ndjson',
        name: options.name ?? '',
        bytes: bytes(),
        ...test.keyOf(owner, options.key),
      });
    },
    /** Receives lines and quotes them. Returns the id of the batch. */
    createQuoted: async (owner: Owner, lines: readonly string[]): Promise<string> => {
      const { batch } = await test.receive(owner, lines);
      await quoteBatch(services, { accountId: owner.accountId, batchId: batch.id });
      return batch.id;
    },
    /** The record of a key, and an answer that shows the state of the batch. */
    keyOf: (owner: Owner, key: string | undefined): Pick<Upload, 'record' | 'describe'> => ({
      record:
        key === undefined
          ? undefined
          : openKeyRecord(money.keys, {
              accountId: owner.accountId,
              ...createRequestKey(
                money.keys,
                { accountId: owner.accountId, key },
                { method: 'POST', path: '/batches', body: undefined },
              ),
            }),
      describe: async (_session, batch) => `${batch.status} ${batch.row_count}`,
    }),
    batchOf: async (id: string) => {
      const [row] = await money.rows<{ [column: string]: unknown }>(
        'select * from batches where id = $1',
        [id],
      );
      if (row === undefined) throw new Error('no such batch');
      return row;
    },
    [Symbol.asyncDispose]: () => money[Symbol.asyncDispose](),
  };
  return test;
}
