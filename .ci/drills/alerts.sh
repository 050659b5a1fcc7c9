#!/usr/bin/env bash
# The alert rules and their tests, by promtool (Debian's package prometheus).
set -euo pipefail

cd "$(dirname "$0")/../../deploy/prometheus"
promtool check config prometheus.yaml
promtool check rules rules.yaml
promtool test rules rules.test.yaml
