#!/usr/bin/env bash
# The alert rules and their tests, and the queries of the dashboards, by promtool (Debian's package
# prometheus).
set -euo pipefail

cd "$(dirname "$0")/../../deploy/prometheus"
promtool check config prometheus.yaml
promtool check config --syntax-only compose.yaml cell.yaml
promtool check rules rules.yaml
promtool test rules rules.test.yaml

panels=$(mktemp --suffix=.yaml)
trap 'rm -f "$panels"' EXIT
node ../../.ci/drills/panel-rules.mjs ../grafana/dashboards >"$panels"
promtool check rules "$panels"
