import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDatabase } from '../../../testing/setups/database.ts';
import { openOwner } from '../../../testing/setups/owner-session.ts';
import { connectDatabase, type Session } from './pool.ts';

test('a column added by a newer release fails no prepared statement that reads all columns', async () => {
  await using database = await createTestDatabase();
  const db = connectDatabase({ url: database.url, connectionsMax: 1 });
  const owner = openOwner(database.url);
  const readAll = { name: 'read_all', text: 'select * from accounts' };
  const read = (session: Session) => session.query(readAll);
  const alone = () => read(db.system);
  const inTransaction = () => db.systemTransaction(read);
  const inLane = () => read(db.lanes[0] ?? db.system);
  const ways = { alone, inTransaction, inLane };
  for (const [name, way] of Object.entries(ways)) {
    await way();
    await owner.session.query({
      name: '',
      text: `alter table accounts add column added_${name} text`,
    });
    const { fields } = await way();
    assert.ok(
      fields.some((field) => field.name === `added_${name.toLowerCase()}`),
      name,
    );
  }
  await Promise.all([db.close(), owner.close()]);
});
