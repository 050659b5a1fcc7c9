import { z } from 'zod';
import type { Session, Statement } from '../../db/postgres/pool.ts';
import { column, defineQuery, exec, many, one } from '../../db/rows.ts';
import { formsSchema } from './requirements-schema.ts';

/** What counterparties ask for accounts of recipients, in versions. */

const givenSchema = z
  .array(z.tuple([z.string(), z.string()]))
  .transform(Object.fromEntries<string>);

const keyColumns = {
  payer_key: column.text,
  currency: column.text,
  given: column.jsonText(givenSchema),
};

const storeQuery = defineQuery({
  name: 'store_rail_requirements',
  text: `
    select payer_key, currency, given, version, is_changed
    from store_rail_requirements($1, $2, $3, $4, $5, $6)`,
  columns: { ...keyColumns, version: column.integer, is_changed: column.boolean },
});

const revisionQuery = defineQuery({
  name: 'read_requirements_revision',
  text: `
    select count(*) || ' ' || coalesce(sum(version), 0) || ' ' || coalesce(max(read_at)::text, '')
      as revision
    from rail_requirements where version is not null`,
  columns: { revision: column.text },
});

const listQuery = defineQuery({
  name: 'list_rail_requirements',
  text: `
    select r.rail, r.payer_key, r.currency, r.given, r.version, r.read_at, v.forms
    from rail_requirements r
    join rail_requirement_versions v using (rail, payer_key, currency, version)
    order by r.rail, r.payer_key, r.currency, length(r.given), r.given`,
  columns: {
    rail: column.text,
    ...keyColumns,
    version: column.integer,
    read_at: column.instant,
    forms: column.jsonText(formsSchema),
  },
});

/** A payer and currency has at most 300 variants; further ones are asked for at each sending. */
const wantText: Statement = {
  name: 'want_rail_requirements',
  text: `
    insert into rail_requirements as r (rail, payer_key, currency, given, wanted_at)
    select $1, $2, $3, $4, environment_now()
    where (
      select count(*) from rail_requirements
      where rail = $1 and payer_key = $2 and currency = $3 and given <> $4) < 300
    on conflict (rail, payer_key, currency, given) do update set wanted_at = excluded.wanted_at
      where r.wanted_at < excluded.wanted_at - interval '1 day'`,
};

const wantedQuery = defineQuery({
  name: 'list_wanted_requirements',
  text: `
    select payer_key, currency, given from rail_requirements
    where rail = $1 and wanted_at > (select environment_now()) - interval '90 days'
    order by read_at nulls first, payer_key, currency, given
    limit 1000`,
  columns: keyColumns,
});

export type RequirementsRow = Awaited<ReturnType<typeof listRequirements>>[number];

/** Differs after each change and each reading. */
export async function readRevision(session: Session): Promise<string> {
  return (await one(session, revisionQuery)).revision;
}

/** The newest version of each; of a payer and currency those without given values first. */
export const listRequirements = (session: Session) => many(session, listQuery);

export type RequirementsWrite = {
  payerKey: string;
  currency: string;
  /** JSON array of pairs. */
  given: string;
  digest: string;
  /** JSON. */
  forms: string;
};

export async function storeRequirements(
  session: Session,
  rail: string,
  writes: readonly RequirementsWrite[],
) {
  return many(session, storeQuery, [
    rail,
    writes.map(({ payerKey }) => payerKey),
    writes.map(({ currency }) => currency),
    writes.map(({ given }) => given),
    writes.map(({ digest }) => digest),
    writes.map(({ forms }) => forms),
  ]);
}

export async function insertWanted(
  session: Session,
  rail: string,
  { payerKey, currency, given }: Pick<RequirementsWrite, 'payerKey' | 'currency' | 'given'>,
): Promise<void> {
  await exec(session, wantText, [rail, payerKey, currency, given]);
}

export const listWanted = (session: Session, rail: string) => many(session, wantedQuery, [rail]);
