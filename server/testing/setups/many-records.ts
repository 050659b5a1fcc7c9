import pg from 'pg';

/**
 * Fills an account with many rows of each kind that the console lists, fast: payouts are copied from one
 * that is committed, the rest is written by sets. Triggers and foreign keys are off meanwhile.
 */

export type ManyRecords = { accountId: string; payoutId: string; count: number };

const nobody = '00000000-0000-0000-0000-000000000000';

export async function fillRecords(url: string, records: ManyRecords): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('set session_replication_role = replica');
    await copyPayouts(client, records);
    for (const statement of listStatements(records)) await client.query(statement);
    await client.query('drop table copies; drop function past_id');
    await client.query('analyze');
  } finally {
    await client.end();
  }
}

/** Completed ones, a minute apart, of all recipients in turn. */
async function copyPayouts(client: pg.Client, { accountId, payoutId, count }: ManyRecords) {
  // As the service makes identifiers: they grow with the time.
  await client.query(`
    create function past_id(n bigint) returns uuid language sql as $$
      select (lpad(to_hex((extract(epoch from ${past(count)}) * 1000)::bigint), 12, '0') || '7'
        || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid
    $$`);
  await client.query(
    `create table copies as
     select n, past_id(n) as payout_id, u.id as user_id
     from generate_series(1, ${count}) n
     join (select row_number() over () as rank, count(*) over () as users, id
       from users where account_id = $1) u on u.rank = n % u.users + 1
     order by n`,
    [accountId],
  );
  for (const [table, key] of [
    ['payout_quotes', 'id'],
    ['payout_states', 'payout_id'],
    ['ledger_journals', 'payout_id'],
    ['events', 'subject_id'],
    ['attempts', 'payout_id'],
  ] as const) {
    const { rows } = await client.query<{ name: string; type: string }>(
      `select column_name as name, data_type as type from information_schema.columns
       where table_name = $1 order by ordinal_position`,
      [table],
    );
    const own: Record<string, string> = {
      id: 'past_id(c.n)',
      user_id: 'c.user_id',
      client_transfer_id: 'c.payout_id::text',
      reference: 'c.payout_id::text',
      status: `'COMPLETED'`,
      // Those of the original belong to its recipient.
      attr_set_id: 'null',
      attr_version: 'null',
      // A payout has fewer than ten events.
      sequence: `a.event_sequence + c.n * 10 + row_number() over (partition by c.n order by t.sequence)`,
      [key]: 'c.payout_id',
    };
    const values = rows.map(({ name, type }) => {
      if (name === 'completed_at') return 't.committed_at';
      if (type !== 'timestamp with time zone') return own[name] ?? `t.${name}`;
      return `t.${name} - (${count} - c.n) * interval '1 minute'`;
    });
    await client.query(
      `insert into ${table} (${rows.map(({ name }) => name).join(', ')})
       select ${values.join(', ')} from accounts a cross join copies c cross join ${table} t
       where a.id = t.account_id and t.${key} = $1
       order by c.n`,
      [payoutId],
    );
  }
  await client.query(
    'update accounts set event_sequence = event_sequence + $2::integer * 10 + 9 where id = $1',
    [accountId, count],
  );
}

const past = (count: number) => `now() - (${count} - n) * interval '1 minute'`;

/** `n` counts from 1, the oldest first. */
const listStatements = ({ accountId, count }: ManyRecords): string[] => {
  const account = `'${accountId}'::uuid`;
  const at = past(count);
  const ended = `${at} + interval '30 seconds'`;
  return [
    // Nine of ten are closed; one of five is about an inbound message of no account.
    `insert into exceptions (account_id, id, payout_id, rail, kind, detail, opened_at, closed_at, resolution)
   select case when n % 5 = 0 then '${nobody}' else ${account} end, gen_random_uuid(),
     case when n % 5 = 0 then null else payout_id end, 'rail_' || n % 3,
     case when n % 5 = 0 then 'unmatched' else 'unknown_outcome' end, 'copy', ${at},
     case when n % 10 > 0 then ${ended} end, case when n % 10 > 0 then 'done' else '' end
   from copies, generate_series(1, 3)`,
    `insert into payout_decisions (account_id, id, payout_id, action, decided_by, reason, is_effective,
     decided_at, operator_id, about, mac)
   select ${account}, past_id(n), payout_id, 'retry', 'ada', 'copy', true, ${at},
     gen_random_uuid(), sha256(''), sha256('') || '\\x00000001'
   from copies`,
    `insert into audit_entries (sequence, id, created_at, actor_kind, actor, action, reason, outcome,
     digest, hash, mac, account_id)
   select 1000000 + n, gen_random_uuid(), now() - (1000000 - n) * interval '1 second', 'operator',
     'ada', 'payout decide', 'copy', 'done', sha256(''), sha256(''), sha256('') || '\\x00000001', ${account}
   from generate_series(1, 10 * ${count}) n`,
    `insert into verification_sessions (account_id, id, user_id, status, submission, expires_at,
     created_at, updated_at)
   select ${account}, past_id(n), user_id, 'Approved', 1, ${at} + interval '7 days', ${at},
     ${at} from copies`,
    `insert into verification_sessions (account_id, id, user_id, status, submission, expires_at,
     created_at, updated_at)
   select ${account}, gen_random_uuid(), gen_random_uuid(), 'Submitted', 1, ${at} + interval '7 days',
     ${at}, ${at}
   from copies`,
    `insert into verification_decisions (account_id, id, session_id, user_id, submission, decision,
     decided_by, person, reason, is_effective, decided_at)
   select account_id, gen_random_uuid(), id, user_id, 1, 'approved', 'ada', 'ada', '', true, created_at
   from verification_sessions where account_id = ${account}`,
    `insert into batches (account_id, id, status, format, row_count, valid_count, priced_at, created_at, updated_at)
   select ${account}, past_id(n), 'DRAFT', 'csv', 1, 1, now(), ${at}, ${at}
   from copies`,
    `insert into batch_rows (account_id, batch_id, number, line, status, faults)
   select ${account}, (select id from batches where account_id = ${account} order by id desc limit 1), n,
     n + 1, 'INVALID', '[]'
   from copies`,
    `insert into webhook_endpoints (account_id, id, url, description, event_types, cursor, created_at)
   select ${account}, past_id(n), 'https://example.com/' || n, '', '{}', 0, ${at}
   from generate_series(1, 3) n`,
    `insert into webhook_secrets (account_id, endpoint_id, id, algorithm, sealed, public_key, created_at)
   select account_id, id, id, 'ed25519', '', '', created_at from webhook_endpoints`,
    `insert into webhook_deliveries (account_id, endpoint_id, id, month, message_id, kind, sequence,
     event_type, try, result, status_code, error, answer_type, duration_ms, url, started_at)
   select ${account}, (select id from webhook_endpoints where account_id = ${account} order by id limit 1),
     past_id(n), month_of(now()), 'm' || n, 'event', n, 'payout.completed', 1, 'delivered', 200,
     '', '', 5, 'https://example.com', now()
   from copies`,
    `insert into screenings (account_id, user_id, sequence, state, subject_index, list_fingerprint,
     list_versions, threshold_permille, top_score_permille, hits, screened_at)
   select ${account}, user_id, n, 'clear', sha256(''), sha256(''), '[]', 900, 0, '[]', ${at}
   from copies`,
    `insert into screening_clearances (account_id, id, user_id, list, entry_id, entry_name, entry_hash,
     subject_index, reason, cleared_by, cleared_at, until)
   select ${account}, past_id(n), user_id, 'ofac_sdn', n::text, 'Copy', '', sha256(''), '', 'ada',
     ${at}, now() + interval '1 year'
   from copies`,
    `insert into legal_holds (account_id, id, user_id, reason, placed_by, placed_at, until, ended_by,
     ended_at)
   select ${account}, past_id(n), user_id, 'copy', 'ada', ${at}, now() + interval '1 year',
     case when n % 10 > 0 then 'ada' end, case when n % 10 > 0 then now() end
   from copies`,
    `insert into approvals (id, action, parameters, requested_by, reason, requested_at, expires_at,
     ended_at, result, mac)
   select past_id(n), 'limit set', n::text, gen_random_uuid(), 'copy', ${at}, ${ended}, ${ended},
     'withdrawn', ''
   from copies`,
    `insert into freezes (id, scope, account_id, user_id, reason, frozen_by, since, lifted_at, lifted_by,
     lift_reason)
   select past_id(n), 'recipient', ${account}, user_id, 'copy', 'ada', ${at}, ${ended}, 'ada',
     'copy'
   from copies`,
    `insert into bank_entries (rail, id, file_digest, position, bank_account, booked_on, direction,
     currency, amount, payment_references, bank_reference, batch_id, match_id)
   select 'sandbox', past_id(n), '', n::text, '', current_date - n % 90, 'debit', 'MXN', 1, '{}',
     '', '', case when n % 100 > 0 then gen_random_uuid() end
   from copies`,
    `insert into settlement_items (account_id, journal_id, rail, kind, payout_id, reference,
     provider_reference, direction, currency, amount, booked_on, match_id)
   select ${account}, past_id(n), 'sandbox', 'complete', payout_id, '', '', 'debit', 'MXN', 1,
     current_date - n % 90, case when n % 100 > 0 then gen_random_uuid() end
   from copies`,
    `insert into recipient_links (account_id, id, token_hash, user_id, purpose, shows_pickup_code,
     redirect_url, created_at, expires_at)
   select ${account}, past_id(n), sha256(convert_to(n::text, 'UTF8')), user_id, 'verification',
     false, '', ${at}, ${ended}
   from copies`,
    `insert into proposals (account_id, id, user_id, payout_id, credential_id, reason, currency, debit,
     terms_hash, created_at, expires_at)
   select ${account}, past_id(n), user_id, payout_id, gen_random_uuid(), '', 'USD', 1, sha256(''),
     ${at}, ${ended}
   from copies`,
    `insert into payout_days (account_id, day, country, delivery_type, currency, rail, status, count,
     fee_bps, margin_bps)
   select account, current_date - n / 20, 'MEX', 'BANK_DEPOSIT', 'MXN', 'rail ' || n % 20, 'COMPLETED',
     1, 0, 0
   from generate_series(0, 1999) n,
     (select ${account} as account union all select '${nobody}' union all
       select gen_random_uuid() from generate_series(1, 18)) accounts`,
  ];
};
