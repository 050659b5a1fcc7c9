#!/bin/sh
# Runs once, when the database is empty: the role of the service, which is no superuser.
set -eu
psql --set ON_ERROR_STOP=1 --set password="$OUTLAY_DATABASE_PASSWORD" --username "$POSTGRES_USER" <<'SQL'
create role outlay login createrole password :'password';
create database outlay_staging owner outlay;
create database outlay_live owner outlay;
SQL
