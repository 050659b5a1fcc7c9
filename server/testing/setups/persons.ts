import type { KeyRing } from '../../src/core/sealing.ts';
import type { Database } from '../../src/db/postgres/pool.ts';
import { createOperator } from '../../src/operators/operators.ts';

/** Who decides, as the commands of operators say it. */
export type Person = { readonly decidedBy: string; readonly operatorId: string };

/** Names of persons become operators when they are first asked for. */
export function createPersons({ db, keys }: { db: Database; keys: KeyRing }) {
  const known = new Map<string, Promise<Person>>();
  const create = async (name: string): Promise<Person> => {
    const terms = { name, role: 'approver', createdBy: undefined } as const;
    const { operator } = await createOperator({ session: db.system, keys }, terms);
    return { decidedBy: name, operatorId: operator };
  };
  return (name: string): Promise<Person> => {
    const person = known.get(name) ?? create(name);
    known.set(name, person);
    return person;
  };
}
