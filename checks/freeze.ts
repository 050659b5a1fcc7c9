import { freezeSchema } from '../server/src/db/migrate.ts';

/** `npm run freeze`: before a second migration is written. CONTRIBUTING.md says when. */
process.stdout.write(`${await freezeSchema()}\n`);
