#!/usr/bin/env bash
# Two cells behind one entry, of which one dies: acceptance/drills/cells.ts. Wants Debian's haproxy and
# postgresql-15. Host names of the cells are this machine.
cd "$(dirname "$0")/../.."
export NODE_OPTIONS="--import=$PWD/acceptance/drills/loopback-names.mjs"
exec .ci/drills/run-drill.sh acceptance/drills/cells.ts
