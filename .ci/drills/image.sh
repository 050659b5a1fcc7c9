#!/usr/bin/env bash
# Builds deploy/Dockerfile and runs the image as a cluster should: another user than root, a read-only
# root file system, no capabilities. Pays once over HTTP. Called by `.ci/run image`, as root.
#
#   .ci/drills/image.sh WORK_FOLDER
#
# Both bases are a Debian made by debootstrap, because images of a registry may be out of reach here; the
# first one gets this machine's npm. So what is not checked is the bases that the Dockerfile pins.
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$1
store=(--root "$work/store" --runroot "$work/runroot" --storage-driver vfs)
bin=/usr/lib/postgresql/15/bin
mkdir -p "$work"/{bundle,postgres,socket,data}
chown postgres "$work/postgres" "$work/socket"
chmod 0755 "$work" "$work/socket"

began=$SECONDS
say() { printf '\n=== %s (%s s)\n' "$*" "$((SECONDS - began))"; }
fail() {
  printf 'FAILED: %s\n' "$*" >&2
  tail -n 30 "$work"/*.log >&2 || true
  exit 1
}
buildah() { command buildah "${store[@]}" "$@"; }
runc() { command runc --root "$work/runc" "$@"; }
as_postgres() { (cd / && setpriv --reuid=postgres --regid=postgres --clear-groups env HOME=/ "$@"); }

clean_up() {
  local status=$? name
  for name in $(runc list -q 2>/dev/null || true); do runc delete --force "$name" || true; done
  if [ -f "$work/postgres/postmaster.pid" ]; then
    as_postgres "$bin/pg_ctl" -D "$work/postgres" -w -s -m immediate stop || true
  fi
  rm -rf "$work"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

make_bases() {
  say 'A Debian for both bases'
  debootstrap --variant=minbase bookworm "$work/debian" >"$work/debootstrap.log" 2>&1 || fail debootstrap
  # Packages that were unpacked already.
  rm -rf "$work/debian/var/cache/apt/archives" "$work/debian/var/lib/apt/lists"
  local base node npm
  base=$(buildah from scratch)
  buildah add -q "$base" "$work/debian" / >/dev/null
  rm -rf "$work/debian"
  buildah commit -q "$base" localhost/run-base >/dev/null
  node=$(cd "$root" && node bootstrap.mjs)
  npm=$(realpath "$(command -v npm)")
  buildah copy -q "$base" "$node" /usr/local/bin/node >/dev/null
  buildah copy -q "$base" "${npm%/bin/npm-cli.js}" /usr/local/lib/node_modules/npm >/dev/null
  buildah run --isolation chroot "$base" ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
  buildah commit -q --rm "$base" localhost/build-base >/dev/null
}

# Uses the volumes of build_image.
build_once() {
  buildah bud --isolation chroot --format docker --layers=false --pull-never --timestamp 0 \
    "${volumes[@]}" --build-arg BUILD_IMAGE=localhost/build-base \
    --build-arg RUN_IMAGE=localhost/run-base -f "$root/deploy/Dockerfile" -t "$1" \
    "$root" >"$work/build.log" 2>&1 || fail 'buildah bud'
}

build_image() {
  say 'The image'
  # This machine's npm settings and packages; what is in its cache is not asked for again.
  local name cache
  cache=$(npm config get cache)
  mkdir -p "$cache"
  for name in globalconfig userconfig; do
    name=$(npm config get "$name")
    if [ -f "$name" ]; then cat "$name"; fi
  done >"$work/npmrc"
  printf '\nprefer-offline=true\nfetch-timeout=20000\nfetch-retries=5\n' >>"$work/npmrc"
  volumes=(-v /etc/ssl/certs:/etc/ssl/certs:ro -v "$cache:/root/.npm" -v "$work/npmrc:/usr/local/etc/npmrc:ro")
  build_once localhost/outlay
  buildah inspect --type image localhost/outlay >"$work/image.json"
  rootfs=$(buildah mount "$(buildah from localhost/outlay)")
  printf "%s MB, base included\n" "$(du -sm "$rootfs" | cut -f1)"
}

# By the hashes of the layers and the settings. The ids differ: the format of Docker, which HEALTHCHECK
# needs, also records the name of the container in which an image was built.
check_reproducible() {
  say 'The same image from a second build'
  local first second other
  build_once localhost/outlay-again
  first=$(describe_image localhost/outlay)
  second=$(describe_image localhost/outlay-again)
  printf '%s\n' "$first"
  [ "$first" = "$second" ] && return
  printf '%s\n' "$second"
  other=$(buildah mount "$(buildah from localhost/outlay-again)")
  diff -rq --no-dereference "$rootfs" "$other" 2>/dev/null | head -n 20 || true
  fail 'two builds differ'
}

describe_image() {
  buildah inspect --type image --format '{{.OCIv1.RootFS.DiffIDs}} {{.OCIv1.Config}}' "$1"
}

# The logins are those of Compose, made by its own script.
start_postgresql() {
  printf 'drill' >"$work/password"
  chmod 0644 "$work/password"
  as_postgres "$bin/initdb" -D "$work/postgres" -U postgres -A scram-sha-256 --pwfile "$work/password" \
    -E UTF8 --locale=C.UTF-8 --no-sync >"$work/initdb.log"
  as_postgres "$bin/pg_ctl" -D "$work/postgres" -w -s -l "$work/postgres/log" \
    -o "-c listen_addresses='' -c unix_socket_directories='$work/socket'" start
  local task
  for task in MIGRATE SERVE WORK COMMAND READ; do export "DATABASE_${task}_PASSWORD=drill"; done
  PGHOST=$work/socket PGPASSWORD=drill POSTGRES_USER=postgres "$root/deploy/postgres/10-outlay.sh"
}

# Parameters: a name, the login at the database, then the words that the container runs; `exec` before a
# program of its own.
run_container() {
  local name=$1 login=$2 health_port=$api_health_port
  shift 2
  # All containers share this machine's network.
  if [ "$name" = worker ]; then health_port=$worker_health_port; fi
  mkdir -p "$work/bundle/$name"
  node "$root/.ci/drills/bundle.mjs" "$work/bundle/$name" "$rootfs" "$work/image.json" "$work/socket" \
    "$work/data" HOST=127.0.0.1 "PORT=$port" "OUTLAY_WORK_PORT=$work_port" \
    "OUTLAY_HEALTH_PORT=$health_port" \
    "DATABASE_URL=postgresql://$login:drill@localhost/outlay_staging?host=/run/postgresql" -- "$@"
  runc run --bundle "$work/bundle/$name" "$name"
}

run_inside() { runc exec "$@"; }

# The command of HEALTHCHECK, in the container, until it answers 0.
wait_until_healthy() {
  local name=$1
  for _ in $(seq 120); do
    run_inside "$name" "${health[@]}" 2>/dev/null && return
    sleep 0.5
  done
  fail "$name did not become healthy"
}

find_free_port() {
  node -e 'const s = require("node:net").createServer();
    s.listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); });'
}

check_confinement() {
  say 'Not root, nothing writable but its folder and /tmp, no npm, no compiler'
  run_container look outlay_reading exec /bin/sh -c '
    [ "$(id -u)" != 0 ] || { echo "the user is root"; exit 1; }
    for folder in / /opt/outlay /opt/outlay/server /etc /usr/local/bin /home; do
      ! touch "$folder/written" 2>/dev/null || { echo "$folder is writable"; exit 1; }
    done
    touch /tmp/written /var/lib/outlay/written && rm /var/lib/outlay/written
    for program in npm npx corepack yarn cc gcc make python3 git curl; do
      ! command -v "$program" || exit 1
    done
    grep -q "^NoNewPrivs:.1" /proc/self/status && grep -q "^CapEff:.0*$" /proc/self/status
    find / -xdev \( -path "*/node_modules/npm" -o -path "*/node_modules/typescript" \) 2>/dev/null | grep . && exit 1
    echo "uid $(id -u)"' || fail 'the container is not confined'
}

pay_once() {
  say 'Pay once over HTTP'
  # The service is ready a moment before it has written the file.
  for _ in $(seq 60); do
    [ -f "$work/data/staging.json" ] && break
    sleep 0.5
  done
  cp "$work/data/staging.json" "$work/staging.json"
  node "$root/.ci/drills/pay.mjs" "$work/staging.json" || fail 'the payout'
}

check_console() {
  say 'The console is in the image'
  node -e 'fetch(process.argv[1]).then(async (answer) => {
    if (!(await answer.text()).includes("/console/assets/")) throw new Error("it is not");
  })' "http://127.0.0.1:$port/console" || fail 'the console'
}

check_logins() {
  say 'Each task with its own login, which lacks nothing'
  run_container status outlay_commanding status | tee "$work/status.txt"
  grep -q 'sending: yes' "$work/status.txt" || fail 'status as the login of commands'
  # Its operator's key is in the folder of the service.
  run_container verify outlay_reading ledger verify >"$work/verify.json" || fail 'ledger verify as the reader'
  grep -q '"isSound": true' "$work/verify.json" || fail 'the ledger is not sound'
  run_container month outlay_reading report month --month "$(date -u +%Y-%m)" >"$work/month.json" ||
    fail 'the report of the month as the reader'
  local logins
  logins=$(PGPASSWORD=drill psql -qAt -h "$work/socket" -U postgres outlay_staging -c \
    "select string_agg(distinct usename, ' ' order by usename) from pg_stat_activity where application_name like 'outlay %'")
  [ "$logins" = 'outlay_serving outlay_working' ] || fail "the logins are $logins"
  # Insufficient privilege.
  grep '"code":"42501"' "$work/api.log" "$work/worker.log" && fail 'a login lacks a grant'
  return 0
}

check_stop() {
  say 'SIGTERM ends both; then the health check fails'
  local name
  for name in api worker; do
    runc kill "$name" TERM
    for _ in $(seq 100); do
      runc state "$name" 2>/dev/null | grep -q '"running"' || break
      sleep 0.2
    done
    runc state "$name" 2>/dev/null | grep -q '"running"' && fail "$name did not stop"
  done
  if run_container health outlay_reading exec "${health[@]}"; then fail 'the health check answers 0 without a service'; fi
}

make_bases
build_image
check_reproducible
mapfile -t health < <(node -p 'JSON.parse(fs.readFileSync(0)).Docker.config.Healthcheck.Test.slice(1).join("\n")' \
  <"$work/image.json")
port=$(find_free_port)
work_port=$(find_free_port)
api_health_port=$(find_free_port)
worker_health_port=$(find_free_port)
chown -R 10001:10001 "$work/data"
start_postgresql
check_confinement
say 'The migration job, the API and the worker'
run_container migrate outlay_migrating migrate || fail 'the migration job'
run_container api outlay_serving serve >"$work/api.log" 2>&1 &
run_container worker outlay_working work >"$work/worker.log" 2>&1 &
wait_until_healthy api
wait_until_healthy worker
pay_once
check_console
check_logins
check_stop
say 'The image holds'
