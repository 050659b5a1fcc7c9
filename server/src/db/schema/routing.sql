-- Terms, limits, health, availability and rating of payers at the time of a choice. Content by its
-- hash; payouts share it.
create table payer_standings (
  id uuid primary key,
  body text not null,
  created_at timestamptz not null
);
alter table payer_standings enable row level security;
create policy everybody on payer_standings using (true);
grant select on payer_standings to outlay_tenant;

-- The candidates of a choice of payer: what each would have cost, and why it was chosen or not.
create table payout_routings (
  account_id uuid not null,
  payout_id uuid not null,
  number integer not null check (number > 0),
  body text not null,
  created_at timestamptz not null,
  primary key (account_id, payout_id, number)
);
alter table payout_routings enable row level security;
create policy own_account on payout_routings using (account_id = current_account());
grant select on payout_routings to outlay_tenant;

create function record_routings(
  p_account uuid, p_payout uuid, p_first text, p_next text, p_at timestamptz
) returns void
  language sql as $$
  insert into payout_routings (account_id, payout_id, number, body, created_at)
  select p_account, p_payout, n.before + row_number() over (order by r.place), r.body, p_at
  from (values (1, p_first), (2, p_next)) r (place, body)
  cross join (
    select count(*) as before from payout_routings
    where account_id = p_account and payout_id = p_payout
  ) n
  where r.body is not null;
$$;

-- Assigns another payer. `p_price`: of its provider, at which it takes over; null where that quotes
-- none. The caller holds the lock of the account's row, and no attempt is in flight.
create function reroute_payout(
  payout payouts, p_rail text, p_payer_key text, p_price text, p_at timestamptz
) returns void
  language plpgsql as $$
begin
  update payout_states set rail = p_rail, payer_key = p_payer_key, provider_price = p_price,
    updated_at = p_at
  where account_id = payout.account_id and payout_id = payout.id;
  if p_rail <> payout.rail then
    perform post_amount(payout, 'unroute', payout.rail, payout.destination_currency,
      payout.destination_amount, p_at);
    perform post_amount(payout, 'route', p_rail, payout.destination_currency,
      payout.destination_amount, p_at);
  end if;
  perform write_event(payout.account_id, 'payout.processing', payout.id, null, p_at,
    'goes through another payer');
end
$$;

-- Charges of rails. The margin of a payout is its fee and exchange gain, less these.
create table payout_charges (
  account_id uuid not null,
  payout_id uuid not null,
  rail text not null,
  id text not null,
  kind text not null check (kind in ('network', 'bank', 'partner')),
  currency text not null,
  amount bigint not null check (amount > 0),
  created_at timestamptz not null,
  primary key (account_id, payout_id, rail, id)
);
alter table payout_charges enable row level security;

-- Records and posts the charges of a rail for a payout, each once.
create function post_charges(
  p_account uuid, p_payout uuid, p_rail text, p_charges jsonb, p_at timestamptz
) returns void
  language plpgsql as $$
declare
  v_payout payouts;
  c record;
begin
  select * into v_payout from payouts where account_id = p_account and id = p_payout;
  for c in
    select * from jsonb_to_recordset(p_charges)
      as x (id text, kind text, currency text, amount bigint)
  loop
    insert into payout_charges (account_id, payout_id, rail, id, kind, currency, amount, created_at)
    values (p_account, p_payout, p_rail, c.id, c.kind, c.currency, c.amount, p_at)
    on conflict do nothing;
    if found then
      perform post_amount(v_payout, 'charge', p_rail, c.currency, c.amount, p_at);
    end if;
  end loop;
end
$$;

-- What a payout earned (nothing where its fee was refunded) and the charges of its rails.
create view payout_margins with (security_invoker = true) as
select p.account_id, p.id as payout_id, p.source_currency,
  case
    when p.committed_at is null or p.status = 'SCHEDULED'
      or (p.status = 'CANCELLED' and p.completed_at is null) then 0
    else p.fee
  end as fee_earned,
  coalesce(c.charges, '[]'::json) as charges
from payouts p
left join lateral (
  select json_agg(json_build_object('rail', rail, 'kind', kind, 'currency', currency,
      'amount', amount::text) order by created_at, id) as charges
  from payout_charges c where c.account_id = p.account_id and c.payout_id = p.id
) c on true;

-- When a rail last reported something definite: an answer or a notification.
create table rail_contacts (
  rail text primary key,
  reported_at timestamptz not null
);
alter table rail_contacts enable row level security;

-- Results of a payer on a day (UTC), from our own attempts. Ratings are computed from them.
create table payer_days (
  rail text not null,
  payer_key text not null,
  day date not null,
  paid bigint not null default 0,
  refused bigint not null default 0,
  -- Without rejections that are due to the recipient.
  refused_by_payer bigint not null default 0,
  unknown bigint not null default 0,
  unreached bigint not null default 0,
  returned bigint not null default 0,
  late bigint not null default 0,
  primary key (rail, payer_key, day)
);
alter table payer_days enable row level security;
