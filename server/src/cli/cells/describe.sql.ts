import type { Session } from '../../db/postgres/pool.ts';
import { column, defineQuery, one, type RowOf } from '../../db/rows.ts';

const selectPlace = defineQuery({
  name: 'select_cell_place',
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

export type CellPlace = RowOf<typeof selectPlace.columns>;

/** Where the environment's data is. */
export const findCellPlace = (session: Session): Promise<CellPlace> => one(session, selectPlace);
