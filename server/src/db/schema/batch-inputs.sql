-- The rows of a batch's file as they were written, a portion to a row, for the file of its result.
create table batch_inputs (
  account_id uuid not null,
  batch_id uuid not null,
  -- The number of its first row in the batch; a portion has at most 500.
  first_number integer not null check (first_number > 0),
  -- Names of its columns, in their order.
  columns text[] not null,
  -- JSON array of the rows, compressed and sealed: columns that Outlay does not know may say anything.
  sealed bytea not null,
  primary key (account_id, batch_id, first_number)
);
alter table batch_inputs enable row level security;
create policy own_account on batch_inputs using (account_id = current_account());
grant select, insert, update, delete on batch_inputs to outlay_tenant;

-- An erasure empties rows of any batch.
create trigger open_to_clients before update on batch_inputs
  for each row when (current_user = 'outlay_tenant') execute function refuse_unless_open();
create trigger removed_unfinished before delete on batch_inputs
  for each row execute function refuse_unless_open();
create trigger never_emptied before truncate on batch_inputs
  for each statement execute function refuse_change('must not be truncated');
