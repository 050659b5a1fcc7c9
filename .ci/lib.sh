# Runs the steps of a table, for .ci/run and .ci/long, which source it. Each step is .ci/step in a process
# group of its own. A step for one core runs beside another one where the machine has two; then its output is
# kept apart and printed whole when it ends.
#
# The caller sets `table`, whose lines are a step's name, its budget in minutes on a slow machine, the cores that
# it fills, and what it shows; `limits`, the minutes for all steps of which the rest is printed; `continues=yes`
# where a step that fails does not stop the others; `summary`, a file that gets the last table; and
# `form=long` for the long form of steps that have two.
set -euo pipefail

declare -A budget cores shows group output started took result warned
declare -a steps=() limits=()
continues=
summary=/dev/null
form=
places=$(($(nproc) > 1 ? 2 : 1))
outputs=

say() { printf '\n=== %s\n' "$*"; }

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

# Parameter: seconds, which may be negative.
format_time() {
  local seconds=${1#-} sign=
  [ "$1" -ge 0 ] || sign=-
  printf '%s%d:%02d' "$sign" $((seconds / 60)) $((seconds % 60))
}

describe_time() {
  local limit
  printf '%s since the start' "$(format_time "$SECONDS")"
  for limit in "${limits[@]}"; do
    printf ', %s left of %s min' "$(format_time $((limit * 60 - SECONDS)))" "$limit"
  done
}

# Parameters: the names that were asked for; none for the whole table. Debian's packages come first.
choose_steps() {
  local name minutes count text
  while read -r name minutes count text; do
    [ -n "$name" ] || continue
    steps+=("$name")
    budget[$name]=$minutes cores[$name]=$count shows[$name]=$text
  done <<<"$table"
  [ $# -gt 0 ] || return 0
  for name in "$@"; do [ -n "${budget[$name]:-}" ] || fail "no step $name; there are: ${steps[*]}"; done
  steps=()
  for name in "$@"; do
    case $name in
      packages | check | test) ;;
      *) steps=(packages) ;;
    esac
  done
  for name in "$@"; do if [ "$name" != packages ] || [ ${#steps[@]} = 0 ]; then steps+=("$name"); fi; done
}

start_step() {
  local name=$1
  say "$name: ${shows[$name]}; budget ${budget[$name]} min; $(describe_time)"
  started[$name]=$SECONDS
  # Monitor mode makes a process group of each step, and leaves SIGINT to its programs.
  set -m
  if [ "${cores[$name]}" -ge "$places" ]; then
    .ci/step "$name" $form </dev/null &
  else
    output[$name]=$outputs/$name
    .ci/step "$name" $form </dev/null >"$outputs/$name" 2>&1 &
  fi
  group[$name]=$!
  set +m
}

# As a condition.
fits() {
  local name used=0
  # Only the check needs none of the packages.
  if [ -n "${group[packages]:-}" ] && [ "$1" != check ]; then return 1; fi
  for name in "${!group[@]}"; do used=$((used + cores[$name])); done
  [ "$used" = 0 ] || [ $((used + cores[$1])) -le "$places" ]
}

look_after_steps() {
  local name limit
  for limit in "${limits[@]}"; do
    if [ -z "${warned[$limit]:-}" ] && [ "$SECONDS" -gt $((limit * 60)) ]; then
      warned[$limit]=yes
      say "All steps together exceed $limit minutes"
    fi
  done
  for name in "${!group[@]}"; do
    if ! kill -0 "${group[$name]}" 2>/dev/null; then
      end_step "$name"
    elif [ -z "${warned[$name]:-}" ] && [ $((SECONDS - started[$name])) -gt $((budget[$name] * 60)) ]; then
      warned[$name]=yes
      say "step $name exceeds its budget of ${budget[$name]} minutes; $(describe_time)"
      if [ -n "${output[$name]:-}" ]; then tail -n 5 "${output[$name]}"; fi
    fi
  done
}

end_step() {
  local name=$1 status=0
  wait "${group[$name]}" || status=$?
  unset "group[$name]"
  took[$name]=$((SECONDS - started[$name]))
  if [ "$status" = 0 ]; then result[$name]=passed; else result[$name]="failed ($status)"; fi
  if [ -n "${output[$name]:-}" ]; then
    say "The output of $name"
    cat "${output[$name]}"
  fi
  say "$name ${result[$name]} in $(format_time "${took[$name]}") of ${budget[$name]} min; $(describe_time)"
  if [ "$status" != 0 ]; then
    failed=yes
    if [ -z "$continues" ]; then exit 1; fi
  fi
}

# In the order of the table, so that its order decides which steps run side by side.
run_steps() {
  local queue=("${steps[@]}")
  failed=
  outputs=$(mktemp -d -t outlay-ci.XXXXXX)
  trap clean_up EXIT
  trap 'exit 130' INT TERM
  while [ ${#queue[@]} -gt 0 ] || [ ${#group[@]} -gt 0 ]; do
    while [ ${#queue[@]} -gt 0 ] && fits "${queue[0]}"; do
      start_step "${queue[0]}"
      queue=("${queue[@]:1}")
    done
    sleep 1
    look_after_steps
  done
  [ -z "$failed" ]
}

print_table() {
  local name left
  printf '\n| step | shows | result | time | budget | left |\n|---|---|---|---|---|---|\n'
  for name in "${steps[@]}"; do
    left=
    if [ -n "${took[$name]:-}" ]; then left=$(format_time $((budget[$name] * 60 - took[$name]))); fi
    printf '| %s | %s | %s | %s | %s min | %s |\n' "$name" "${shows[$name]}" "${result[$name]:-not finished}" \
      "${took[$name]:+$(format_time "${took[$name]}")}" "${budget[$name]}" "$left"
  done
  printf '\nCommit %s, %s cores, load %s: %s\n' "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)" \
    "$(nproc)" "$(cut -d ' ' -f 1-3 /proc/loadavg)" "$(describe_time)"
}

clean_up() {
  local status=$? name
  trap '' INT TERM
  for name in "${!group[@]}"; do kill -TERM -- "-${group[$name]}" 2>/dev/null || true; done
  for name in "${!group[@]}"; do
    wait "${group[$name]}" 2>/dev/null || true
    if [ -n "${output[$name]:-}" ]; then
      say "The end of the output of $name, which was not finished"
      tail -n 40 "${output[$name]}"
    fi
  done
  mkdir -p "$(dirname "$summary")"
  print_table | tee "$summary"
  rm -rf "$outputs"
  if [ "$status" = 0 ]; then say 'Everything holds'; else say "Stopped with status $status"; fi
  exit "$status"
}
