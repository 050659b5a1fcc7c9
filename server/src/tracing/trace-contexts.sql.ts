import { plainArray } from '../db/arrays.ts';
import type { Session, Statement } from '../db/postgres/connection.ts';
import { column, defineQuery, exec, many, nullable, type RowOf } from '../db/rows.ts';

const insertStatement: Statement = {
  name: 'insert_trace_context',
  text: `
    insert into trace_contexts (account_id, subject_id, traceparent, created_at)
    values ($1, $2, $3, environment_now())
    on conflict do nothing`,
};

/** Of a payout itself, or of the batch that it came in. */
const findQuery = defineQuery({
  name: 'find_trace_contexts',
  text: `
    select r.ordinal::integer as ordinal, own.traceparent as own, batch.traceparent as batch
    from unnest($1::uuid[], $2::uuid[]) with ordinality r (account_id, subject_id, ordinal)
    left join trace_contexts own
      on own.account_id = r.account_id and own.subject_id = r.subject_id
    left join payout_quotes q on own.subject_id is null and q.account_id = r.account_id
      and q.id = r.subject_id
    left join trace_contexts batch
      on batch.account_id = q.account_id and batch.subject_id = q.batch_id
    where own.traceparent is not null or batch.traceparent is not null`,
  columns: {
    ordinal: column.integer,
    own: nullable(column.text),
    batch: nullable(column.text),
  },
});

const deleteStatement: Statement = {
  name: 'delete_trace_contexts',
  text: `
    delete from trace_contexts where (account_id, subject_id) in (
      select account_id, subject_id from trace_contexts
      where created_at < (select environment_now()) - interval '7 days'
      order by created_at limit 10000)`,
};

export type TraceSubject = { readonly accountId: string; readonly subjectId: string };

export async function insertTraceContext(
  session: Session,
  subject: TraceSubject & { traceparent: string },
): Promise<void> {
  await exec(session, insertStatement, [subject.accountId, subject.subjectId, subject.traceparent]);
}

/** By ordinal, from 1; subjects without a trace are left out. */
export async function selectTraceContexts(
  session: Session,
  subjects: readonly TraceSubject[],
): Promise<RowOf<typeof findQuery.columns>[]> {
  return many(session, findQuery, [
    plainArray(subjects.map(({ accountId }) => accountId)),
    plainArray(subjects.map(({ subjectId }) => subjectId)),
  ]);
}

export async function deleteTraceContexts(session: Session): Promise<number> {
  return exec(session, deleteStatement, []);
}
