#!/usr/bin/env bash
# Runs a drill of acceptance/drills in a temporary folder and a process session of its own, and leaves
# neither behind. Parameters: the drill's file, then its own. The Debian packages are those that .ci/run installs.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d -t outlay-drill.XXXXXX)
# The database runs as another user, who has to reach its files.
chmod 0755 "$work"
drill_id=

clean_up() {
  local status=$? id
  if [ -n "$drill_id" ]; then kill -KILL -- "-$drill_id" 2>/dev/null || true; fi
  if [ "$status" != 0 ]; then tail -n 20 "$work"/*/*.log >&2 || true; fi
  # Servers are sessions of their own.
  for id in $(find "$work" -name postmaster.pid -exec head -qn 1 {} + 2>/dev/null); do
    kill -QUIT "$id" 2>/dev/null || true
  done
  for _ in $(seq 50); do
    grep -lsF "$work" /proc/[0-9]*/cmdline 2>/dev/null | grep -qv "/proc/$$/" || break
    sleep 0.1
  done
  rm -rf "$work"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

node=$(node bootstrap.mjs --dev)
setsid env TMPDIR="$work" "$node" --disable-warning=ExperimentalWarning "$@" &
drill_id=$!
wait "$drill_id"
