import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { readLicenses } from './license-rules.ts';

/**
 * npm run sbom [-- file]: the bill of materials of what runs in production, in CycloneDX 1.5, from the
 * lockfile; on stdout without a file. The same commit gives the same bytes: the time is that of
 * SOURCE_DATE_EPOCH, or else of the commit, and the serial number follows from the content.
 */

type Component = {
  name: string;
  version: string;
  'bom-ref': string;
  purl: string;
  licenses?: object[];
  hashes?: object[];
};
type Sbom = {
  $schema?: string;
  serialNumber: string;
  metadata: { timestamp: string; component: Component };
  components: Component[];
};

const root = join(import.meta.dirname, '..');
const sbom = createSbom();
requireValid(sbom);
const text = `${JSON.stringify(sbom, null, 2)}\n`;
const [file] = process.argv.slice(2);
if (file === undefined) process.stdout.write(text);
else writeFileSync(file, text);

function createSbom(): Sbom {
  const parameters = ['sbom', '--sbom-format=cyclonedx', '--package-lock-only', '--omit=dev'];
  const made = JSON.parse(run('npm', parameters)) as Sbom;
  for (const component of [made.metadata.component, ...made.components]) {
    // npm takes the name of the folder for that of a workspace.
    component.name = component['bom-ref'].slice(0, component['bom-ref'].lastIndexOf('@'));
    const license = readLicenses[component.name];
    if (license !== undefined) component.licenses = [{ expression: license }];
  }
  made.components.sort((one, other) => (one['bom-ref'] < other['bom-ref'] ? -1 : 1));
  made.metadata.timestamp = readTime();
  made.serialNumber = '';
  made.serialNumber = createSerialNumber(JSON.stringify(made));
  return made;
}

function readTime(): string {
  const seconds =
    process.env['SOURCE_DATE_EPOCH'] ?? run('git', ['log', '-1', '--format=%ct']).trim();
  return new Date(Number(seconds) * 1000).toISOString();
}

/** A UUID of version 8 (RFC 9562), which is free to say what it is made of. */
function createSerialNumber(content: string): string {
  const hash = createHash('sha256').update(content).digest('hex');
  const parts = [
    hash.slice(0, 8),
    hash.slice(8, 12),
    `8${hash.slice(13, 16)}`,
    `a${hash.slice(17, 20)}`,
    hash.slice(20, 32),
  ];
  return `urn:uuid:${parts.join('-')}`;
}

/** @throws Error where the standard's schema does not allow it. */
function requireValid(made: Sbom): void {
  const library = createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library');
  const folder = join(library.slice(0, library.lastIndexOf('/dist')), 'res/schema');
  const read = (name: string): object =>
    JSON.parse(readFileSync(join(folder, name), 'utf8')) as object;
  const ajv = new Ajv({
    strict: false,
    formats: {
      'iri-reference': true,
      'idn-email': true,
      'date-time': true,
      email: true,
      uri: true,
    },
  });
  for (const name of ['spdx.SNAPSHOT.schema.json', 'jsf-0.82.SNAPSHOT.schema.json']) {
    ajv.addSchema(read(name), `http://cyclonedx.org/schema/${name}`);
  }
  const validate = ajv.compile(read('bom-1.5.SNAPSHOT.schema.json'));
  if (validate(made)) return;
  throw new Error(`The bill of materials is not valid: ${ajv.errorsText(validate.errors)}`);
}

function run(program: string, parameters: readonly string[]): string {
  return execFileSync(program, parameters, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}
