-- The states of a payout, the moves between them, and the moves that follow from an outcome: the one
-- source of what TypeScript, docs/architecture.md and the state diagram show (`npm run generate`).
create table payout_statuses (
  status text primary key,
  -- Nothing more happens by itself.
  has_ended boolean not null,
  -- A recipient who is to be notified gets a notice.
  notifies_recipient boolean not null
);
insert into payout_statuses (status, has_ended, notifies_recipient) values
  ('PENDING', false, false),
  ('SCHEDULED', false, false),
  ('PROCESSING', false, true),
  ('HOLD', false, false),
  ('ERROR', false, false),
  ('READY_FOR_PICKUP', false, true),
  ('COMPLETED', true, true),
  ('CANCELLED', true, true);

create table payout_transitions (
  from_status text not null references payout_statuses (status),
  to_status text not null references payout_statuses (status),
  -- The journal that the move posts; null: none. What comes back after completion is posted by
  -- `post_return`, in the amount that came back.
  journal_kind text,
  cause text not null,
  primary key (from_status, to_status)
);
insert into payout_transitions (from_status, to_status, journal_kind, cause) values
  ('PENDING', 'PROCESSING', 'commit', 'commit'),
  ('PENDING', 'SCHEDULED', null, 'commit for a later time'),
  ('SCHEDULED', 'PROCESSING', 'commit', 'the time has come, and the balance covers it'),
  ('SCHEDULED', 'CANCELLED', null, 'the client, or what it waits for did not come in time'),
  ('PROCESSING', 'HOLD', null, 'unknown or not sent for 24 hours, stopped by a check, or contradicted'),
  ('PROCESSING', 'ERROR', null, 'rejected, and no other payer is left within the quoted cost'),
  ('PROCESSING', 'READY_FOR_PICKUP', null, 'the rail'),
  ('PROCESSING', 'COMPLETED', 'complete', 'the rail, or a decision'),
  ('PROCESSING', 'CANCELLED', 'refund', 'the rail, or a decision'),
  ('READY_FOR_PICKUP', 'COMPLETED', 'complete', 'the rail, or a decision'),
  ('READY_FOR_PICKUP', 'CANCELLED', 'refund', 'the rail, or a decision'),
  ('HOLD', 'PROCESSING', null, 'a definite outcome, or a decision'),
  ('HOLD', 'CANCELLED', 'refund', 'the rail, or a decision'),
  ('ERROR', 'PROCESSING', null, 'a decision'),
  ('ERROR', 'CANCELLED', 'refund', 'a decision'),
  ('COMPLETED', 'CANCELLED', null, 'a return, even weeks later');

-- No row: the outcome does not fit the state, and is classified as a contradiction or has no effect.
create table payout_outcomes (
  outcome text not null,
  from_status text not null references payout_statuses (status),
  -- One after the other; empty: the payout stays where it is.
  moves text[] not null,
  primary key (outcome, from_status)
);
insert into payout_outcomes (outcome, from_status, moves) values
  ('accepted', 'PROCESSING', '{}'),
  ('accepted', 'READY_FOR_PICKUP', '{}'),
  ('accepted', 'HOLD', '{PROCESSING}'),
  ('ready_for_pickup', 'PROCESSING', '{READY_FOR_PICKUP}'),
  ('ready_for_pickup', 'HOLD', '{PROCESSING,READY_FOR_PICKUP}'),
  ('paid', 'PROCESSING', '{COMPLETED}'),
  ('paid', 'READY_FOR_PICKUP', '{COMPLETED}'),
  ('paid', 'HOLD', '{PROCESSING,COMPLETED}'),
  ('rejected', 'PROCESSING', '{CANCELLED}'),
  ('rejected', 'READY_FOR_PICKUP', '{CANCELLED}'),
  ('rejected', 'HOLD', '{CANCELLED}'),
  -- Rejected, and no other payer is left.
  ('exhausted', 'PROCESSING', '{ERROR}'),
  ('exhausted', 'HOLD', '{PROCESSING,ERROR}'),
  -- Rejected, and another payer takes over.
  ('rerouted', 'PROCESSING', '{}'),
  ('rerouted', 'HOLD', '{PROCESSING}'),
  ('returned', 'COMPLETED', '{CANCELLED}'),
  ('returned', 'PROCESSING', '{COMPLETED,CANCELLED}'),
  ('returned', 'READY_FOR_PICKUP', '{COMPLETED,CANCELLED}'),
  ('returned', 'HOLD', '{PROCESSING,COMPLETED,CANCELLED}'),
  ('hold', 'PROCESSING', '{HOLD}'),
  ('park', 'PROCESSING', '{HOLD}'),
  ('unknown', 'PROCESSING', '{}'),
  ('unknown', 'READY_FOR_PICKUP', '{}'),
  ('unknown', 'HOLD', '{}'),
  ('retry', 'PROCESSING', '{}'),
  ('retry', 'HOLD', '{}');

alter table payout_statuses enable row level security;
alter table payout_transitions enable row level security;
alter table payout_outcomes enable row level security;
