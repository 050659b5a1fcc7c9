#!/bin/sh
# Runs once, when the server is empty: a database for each environment, and a login for each task. None of
# them is a superuser or may create roles, and none but the first owns anything (docs/operations.md#postgresql).
# On a server of your own, run it as an administrator: POSTGRES_USER is the administrator, and PGHOST and
# the other variables of libpq say where.
set -eu
: "${DATABASE_MIGRATE_PASSWORD:?}" "${DATABASE_SERVE_PASSWORD:?}" "${DATABASE_WORK_PASSWORD:?}"
: "${DATABASE_COMMAND_PASSWORD:?}" "${DATABASE_READ_PASSWORD:?}"
psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname postgres <<'SQL'
\getenv migrate DATABASE_MIGRATE_PASSWORD
\getenv serve DATABASE_SERVE_PASSWORD
\getenv work DATABASE_WORK_PASSWORD
\getenv command DATABASE_COMMAND_PASSWORD
\getenv read DATABASE_READ_PASSWORD
-- What connections may do.
create role outlay_tenant nologin;
create role outlay_service nologin;
create role outlay_api nologin;
create role outlay_worker nologin;
create role outlay_reader nologin;
-- Who connects.
create role outlay_migrating login password :'migrate';
grant outlay_service, outlay_tenant to outlay_migrating;
create role outlay_serving login password :'serve';
grant outlay_api, outlay_tenant to outlay_serving;
create role outlay_working login password :'work';
grant outlay_worker, outlay_tenant to outlay_working;
create role outlay_commanding login password :'command';
grant outlay_service, outlay_tenant, outlay_reader to outlay_commanding;
-- A report must not hold the primary up.
create role outlay_reading login password :'read' connection limit 10;
grant outlay_reader to outlay_reading;
alter role outlay_reading set statement_timeout = '60s';
alter role outlay_reading set idle_in_transaction_session_timeout = '60s';
create database outlay_staging owner outlay_migrating;
create database outlay_live owner outlay_migrating;
revoke all on database outlay_staging, outlay_live from public;
grant connect on database outlay_staging, outlay_live
  to outlay_serving, outlay_working, outlay_commanding, outlay_reading;
SQL
