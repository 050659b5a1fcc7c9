#!/usr/bin/env bash
# A backup under load, a restore to a moment, and the recovery: acceptance/drills/restore.ts. Wants
# Debian's pgbackrest and postgresql-15.
exec "$(dirname "$0")/run-drill.sh" acceptance/drills/restore.ts
