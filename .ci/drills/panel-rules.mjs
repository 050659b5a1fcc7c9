/**
 * Writes the queries of the Grafana dashboards as recording rules, whose syntax promtool checks.
 *
 *     node .ci/drills/panel-rules.mjs deploy/grafana/dashboards >panels.yaml
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [, , folder] = process.argv;
const variables = {
  $environment: 'live',
  $__rate_interval: '1m',
  $__interval: '15s',
  $__range: '1h',
};

function readQueries(file) {
  const { panels } = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  return panels
    .flatMap((panel) => [panel, ...(panel.panels ?? [])])
    .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

const replaceVariables = (query) =>
  Object.entries(variables).reduce((text, [name, value]) => text.replaceAll(name, value), query);

const rules = readdirSync(folder)
  .filter((file) => file.endsWith('.json'))
  .flatMap(readQueries)
  .map((query, index) => ({ record: `panel:${index + 1}`, expr: replaceVariables(query) }));
if (rules.length === 0) throw new Error(`no queries in ${folder}`);
// JSON is YAML too.
process.stdout.write(JSON.stringify({ groups: [{ name: 'panels', rules }] }));
