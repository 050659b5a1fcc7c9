import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { createRecipient, deliveryCases, pay } from './recipients.ts';
import { createAccount, type Service, startService } from './service.ts';

/** Rules and dashboards name metrics that the service has, and alerts have runbooks. */

const deploy = join(import.meta.dirname, '../deploy');

type Rule = {
  alert: string;
  expr: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
};
type Panel = {
  type: string;
  title: string;
  description?: string;
  targets?: { expr: string }[];
  gridPos: { x: number; y: number; w: number; h: number };
  fieldConfig?: { defaults: { unit?: string } };
};
type Dashboard = { uid: string; panels: Panel[]; templating: { list: { name: string }[] } };

let service: Service;
let exported: string;
let rules: Rule[];
let dashboards: Dashboard[];
before(async () => {
  service = await startService();
  const account = await createAccount(service, { USD: '1000' });
  await pay(account.api, await createRecipient(account.api, deliveryCases.bank));
  exported = (await service.demo.get('/metrics')).text;
  const text = await readFile(join(deploy, 'prometheus/rules.yaml'), 'utf8');
  rules = (parse(text) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);
  const folder = join(deploy, 'grafana/dashboards');
  const files = await readdir(folder);
  dashboards = await Promise.all(
    files.map(async (file) => JSON.parse(await readFile(join(folder, file), 'utf8'))),
  );
});
after(() => service.stop());

/** The names of families, and their labels where they have values now. */
function readFamilies(): Map<string, Set<string>> {
  const families = new Map<string, Set<string>>();
  for (const [, name = ''] of exported.matchAll(/^# TYPE (\S+) /gm)) families.set(name, new Set());
  for (const [, name = '', labels = ''] of exported.matchAll(/^(\w+)\{([^}]*)\} /gm)) {
    const known = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''));
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known?.add(label);
  }
  return families;
}

const expressions = (): string[] => [
  ...rules.map(({ expr }) => expr),
  ...dashboards.flatMap(({ panels }) =>
    panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ),
];

test('every metric and every label that a rule or a panel names is exported', () => {
  const families = readFamilies();
  for (const expression of expressions()) {
    for (const [, name = '', selector = ''] of expression.matchAll(
      /\b(outlay_\w+)(?:\{([^}]*)\})?/g,
    )) {
      const family = families.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '');
      const labels = families.get(family);
      assert.ok(labels !== undefined, `${name} is not exported: ${expression}`);
      if (labels.size === 0) continue;
      for (const [, label = ''] of selector.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)) {
        assert.ok(labels.has(label), `${name} has no label ${label}: ${expression}`);
      }
    }
  }
});

test('every alert has a severity, a summary and a runbook, and every runbook an alert', async () => {
  const runbooks = await readFile(join(deploy, '../docs/guides/runbooks.md'), 'utf8');
  const sections = [...runbooks.matchAll(/^### (\w+)$/gm)].map(([, name = '']) => name);
  assert.deepEqual(
    rules.map(({ alert }) => alert),
    sections,
  );
  for (const { alert, labels, annotations } of rules) {
    assert.ok(['page', 'ticket'].includes(labels['severity'] ?? ''), alert);
    assert.ok((annotations['summary'] ?? '') !== '', alert);
    const anchor = `docs/guides/runbooks.md#${alert.toLowerCase()}`;
    assert.equal(annotations['runbook_url'], anchor);
    const section = runbooks.split(`### ${alert}\n`)[1] ?? '';
    assert.ok(section.trimStart().startsWith(`**${labels['severity']}.**`), alert);
  }
});

test('every alert has a test in which it fires', async () => {
  const text = await readFile(join(deploy, 'prometheus/rules.test.yaml'), 'utf8');
  const { tests } = parse(text) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts?: object[] }[] }[];
  };
  const fired = new Set(
    tests.flatMap((one) =>
      one.alert_rule_test.flatMap(({ alertname, exp_alerts: alerts = [] }) =>
        alerts.length > 0 ? [alertname] : [],
      ),
    ),
  );
  assert.deepEqual(
    rules.map(({ alert }) => alert).filter((alert) => !fired.has(alert)),
    [],
  );
});

test('the dashboards are complete: texts, units, variables, and panels that do not overlap', () => {
  assert.equal(dashboards.length, 4);
  for (const { uid, panels, templating } of dashboards) {
    assert.deepEqual(
      templating.list.map(({ name }) => name),
      ['datasource', 'environment'],
    );
    const taken = new Set<string>();
    for (const { type, title, description, targets, gridPos, fieldConfig } of panels) {
      const { x, y, w, h } = gridPos;
      for (let cell = 0; cell < w * h; cell += 1) {
        const place = `${x + (cell % w)},${y + Math.floor(cell / w)}`;
        assert.ok(!taken.has(place) && x + w <= 24, `${uid}: ${title} overlaps at ${place}`);
        taken.add(place);
      }
      if (type === 'row') continue;
      assert.ok(description !== undefined && description !== '', `${uid}: ${title}`);
      assert.ok(targets !== undefined && targets.length > 0, `${uid}: ${title}`);
      assert.ok(fieldConfig?.defaults.unit !== undefined, `${uid}: ${title}`);
    }
  }
});

test('labels of the exported metrics have few values, and none names an account', () => {
  const lines = exported.split('\n').filter((line) => !line.startsWith('#') && line !== '');
  // About thirty of each operation that was called: buckets of its time, and its answers.
  assert.ok(lines.length < 8_000, `${lines.length} series`);
  assert.doesNotMatch(exported, /[0-9a-f]{8}-[0-9a-f]{4}-/);
});
