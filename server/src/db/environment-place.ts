import type { Session } from './postgres/pool.ts';
import { column, defineQuery, one, type RowOf } from './rows.ts';

const selectPlace = defineQuery({
  name: 'select_environment_place',
  columns: {
    /** Made with the server; a copy of its files has the same one. */
    server: column.text,
    database: column.text,
    schema: column.integer,
    /** The real time, also in staging. */
    now: column.instant,
  },
  text: `
    select s.system_identifier::text as server, current_database() as database,
      (select max(version) from migrations) as schema, clock_timestamp() as now
    from pg_control_system() s`,
});

export type EnvironmentPlace = RowOf<typeof selectPlace.columns>;

/** Where the environment's data is, and at what time. */
export const findEnvironmentPlace = (session: Session): Promise<EnvironmentPlace> =>
  one(session, selectPlace);
