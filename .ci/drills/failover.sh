#!/usr/bin/env bash
# The primary is killed ten times under load, or as often as the parameter says: acceptance/drills/failover.ts.
# Wants Debian's patroni, etcd-server and postgresql-15.
exec "$(dirname "$0")/run-drill.sh" acceptance/drills/failover.ts "$@"
