#!/usr/bin/env bash
# Builds the PgBouncer of a newer Debian from its source package, as /usr/local/sbin/pgbouncer: Debian
# 12's loses prepared statements between transactions. Signatures are apt's business, as for every
# package. As root.
set -euo pipefail

release=trixie
target=/usr/local/sbin/pgbouncer
if [ -x "$target" ]; then
  "$target" --version | head -n 1
  exit
fi

work=$(mktemp -d -t outlay-pgbouncer.XXXXXX)
trap 'rm -rf "$work"' EXIT
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | head -n 1)
printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
  "$mirror" "$release" >"$work/sources.list"
mkdir -p "$work"/lists/partial "$work"/cache/archives/partial "$work/source"
# Lists of its own, so that this machine installs nothing of that release.
options=(
  -q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
  -o "Dir::State::lists=$work/lists" -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root
)
for try in 1 2 3; do
  apt-get "${options[@]}" update && break
  [ "$try" = 3 ] && exit 1
  sleep 5
done
(
  cd "$work/source"
  apt-get "${options[@]}" source pgbouncer
  cd pgbouncer-*/
  ./configure --without-cares --without-pam --without-systemd >"$work/build.log" 2>&1 &&
    make -j2 pgbouncer >>"$work/build.log" 2>&1 || {
    tail -n 20 "$work/build.log" >&2
    exit 1
  }
  install -m 0755 pgbouncer "$target"
)
"$target" --version | head -n 1
