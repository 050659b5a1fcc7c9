-- What only reads need: indexes of lists and searches, and grants. No step that moves money uses them, and
-- no index holds the status of a payout: each move would have to write it.
create index payout_quotes_country on payout_quotes (account_id, country, id);
create index payout_quotes_delivery_type on payout_quotes (account_id, delivery_type, id);

-- A canceled payout has a refund or a return. A journal is written once, so other kinds cost nothing.
create index ledger_journals_given_back on ledger_journals (account_id, payout_id)
  where kind in ('refund', 'return');
-- The kinds of a statement that are few among the commits.
create index ledger_journals_rare on ledger_journals (account_id, source_currency, kind, id)
  where kind in ('fund', 'adjust_credit', 'adjust_debit', 'refund', 'return', 'reserve', 'release');

-- A payout that has not ended is in the queue or has an open exception. Clients list theirs along both.
create index exceptions_waiting on exceptions (account_id, payout_id) where closed_at is null;
alter table payout_dispatches enable row level security;
create policy own_account on payout_dispatches using (account_id = current_account());
grant select (account_id) on payout_dispatches to outlay_tenant;
grant select (payout_id) on payout_dispatches to outlay_tenant;
grant select (frozen_by) on payout_dispatches to outlay_tenant;

create index users_created on users (account_id, created_at, id);
create index users_country on users (account_id, country, id);
create index users_inactive on users (account_id, status, id) where status <> 'ACTIVE';

-- Events of the types that few payouts have, and of other objects. Quotes, commits and completions do not
-- write it.
create index events_rare on events (account_id, type, sequence)
  where type not in ('payout.pending', 'payout.processing', 'payout.completed');

-- The answer to a refused commit reads what the commit decided by.
grant execute on function find_complete_attributes to outlay_tenant;
