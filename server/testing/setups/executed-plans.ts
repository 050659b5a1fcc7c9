import { setImmediate as nextTurn } from 'node:timers/promises';
import pg from 'pg';
import { z } from 'zod';

/**
 * The plans by which the service runs its statements, as PostgreSQL itself reports them: `auto_explain`
 * sends the plan of each statement, also of those within functions, to the connection that ran it.
 */

type PlanNode = z.infer<typeof baseNode> & { Plans?: PlanNode[] | undefined };
const baseNode = z.object({
  'Node Type': z.string(),
  'Relation Name': z.string().optional(),
  'Index Name': z.string().optional(),
  'Actual Rows': z.number(),
  'Actual Loops': z.number(),
  'Rows Removed by Filter': z.number().optional(),
  'Rows Removed by Index Recheck': z.number().optional(),
});
const planNode: z.ZodType<PlanNode> = baseNode.extend({
  Plans: z.lazy(() => z.array(planNode)).optional(),
});
const explained = z.object({ 'Query Text': z.string(), Plan: planNode });

/** How many rows a statement read of a relation, kept or not. */
export type RowsRead = { statement: string; relation: string; rows: number };

export type ExecutedPlans = {
  /** What was read since the last call, the most first. */
  takeReads(): Promise<RowsRead[]>;
  [Symbol.asyncDispose](): Promise<void>;
};

/** For connections to the database that are opened from now on; needs a superuser. */
export async function watchPlans(url: string): Promise<ExecutedPlans> {
  await setUp(url);
  let plans: string[] = [];
  const { connect } = pg.Client.prototype;
  const watched = function (this: pg.Client, ...given: unknown[]): unknown {
    this.on('notice', ({ message = '' }) => {
      if (message.startsWith('duration: ')) plans.push(message);
    });
    return Reflect.apply(connect, this, given);
  };
  pg.Client.prototype.connect = watched as typeof connect;
  return {
    takeReads: async () => {
      // A plan can come just after the answer of its statement.
      await nextTurn();
      const taken = plans;
      plans = [];
      return taken.flatMap(readPlan).toSorted((a, b) => b.rows - a.rows);
    },
    [Symbol.asyncDispose]: async () => {
      pg.Client.prototype.connect = connect;
    },
  };
}

async function setUp(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>('select current_database() as name');
    const database = pg.escapeIdentifier(rows[0]?.name ?? '');
    for (const setting of [
      `session_preload_libraries = 'auto_explain'`,
      'auto_explain.log_min_duration = 0',
      'auto_explain.log_analyze = on',
      'auto_explain.log_timing = off',
      'auto_explain.log_nested_statements = on',
      'auto_explain.log_format = json',
      'auto_explain.log_level = notice',
    ]) {
      await client.query(`alter database ${database} set ${setting}`);
    }
  } finally {
    await client.end();
  }
}

function readPlan(message: string): RowsRead[] {
  const { 'Query Text': statement, Plan: plan } = explained.parse(
    JSON.parse(message.slice(message.indexOf('{'))),
  );
  const reads: RowsRead[] = [];
  collect(plan, (relation, rows) => reads.push({ statement, relation, rows }));
  return reads;
}

function collect(node: PlanNode, add: (relation: string, rows: number) => void): void {
  const relation = node['Relation Name'] ?? node['Index Name'];
  if (relation !== undefined && node['Node Type'] !== 'ModifyTable') {
    const removed =
      (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
    add(
      `${relation} (${node['Node Type']}${node['Index Name'] === undefined || node['Index Name'] === relation ? '' : ` by ${node['Index Name']}`})`,
      Math.round((node['Actual Rows'] + removed) * node['Actual Loops']),
    );
  }
  for (const child of node.Plans ?? []) collect(child, add);
}
