-- What clients look up and read back: payouts by their own identifier and by time, the newest
-- complete details of a recipient, and the first answer of a batch upload.

-- Every payout of an identifier, quotes that were never committed included. The unique key of
-- payout_states finds the committed one only.
create index payout_quotes_transfer on payout_quotes (account_id, client_transfer_id);
create index payout_quotes_created on payout_quotes (account_id, created_at, id);
