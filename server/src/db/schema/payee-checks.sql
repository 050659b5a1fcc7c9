-- What the bank of a rail said about the name of an account (Verification of Payee): the last answer for
-- each set of attributes. It holds for the versions of attributes and of user that it was asked with.
create table payee_checks (
  account_id uuid not null,
  set_id uuid not null,
  user_id uuid not null,
  attr_version integer not null check (attr_version > 0),
  user_version integer not null check (user_version > 0),
  rail text not null check (length(rail) between 1 and 40),
  -- The answer, under the recipient's key.
  sealed bytea not null,
  checked_at timestamptz not null,
  primary key (account_id, set_id),
  foreign key (account_id, set_id) references attribute_sets (account_id, id),
  foreign key (account_id, user_id) references users (account_id, id)
);
alter table payee_checks enable row level security;
create policy own_account on payee_checks using (account_id = current_account());
grant select, insert, update on payee_checks to outlay_tenant;

-- The answer that counts for these versions; null without one, and where it is older than a week.
create function find_payee_check(
  p_account uuid, p_set uuid, p_attr_version integer, p_user_version integer
) returns bytea
  language sql stable as $$
  select c.sealed from payee_checks c
  where c.account_id = p_account and c.set_id = p_set and c.attr_version = p_attr_version
    and c.user_version = p_user_version and c.checked_at > (select environment_now()) - interval '7 days';
$$;
grant execute on function find_payee_check to outlay_tenant;
