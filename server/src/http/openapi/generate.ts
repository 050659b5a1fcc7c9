import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp, listRoutes } from '../../app.ts';
import { readConfig } from '../../config.ts';
import type { StagingFile } from '../../demo-account.ts';
import { buildOpenapi } from '../openapi.ts';
import { type ExampleRecord, examplesFile } from './examples.ts';
import { allSteps, runSteps, toRecord } from './run-steps.ts';

/**
 * Writes `docs/openapi.json`, after recording its examples from a service that it starts for that:
 *
 *     npm run openapi
 */

export const descriptionFile = join(import.meta.dirname, '../../../../docs/openapi.json');

/** The server that the committed description names: what `npm start` gives. */
export const localServerUrl = 'http://127.0.0.1:8080';

/** Sends every step to a service. @throws Error when an answer has another status than its step. */
export async function recordExamples(service: {
  baseUrl: string;
  credentials: StagingFile;
}): Promise<ExampleRecord[]> {
  const { baseUrl, credentials } = service;
  const document = buildOpenapi(listRoutes(), { serverUrl: baseUrl, examples: [] });
  const records: ExampleRecord[] = [];
  await runSteps({ baseUrl, document, credentials, steps: allSteps }, (answer) => {
    const wanted = answer.step.status ?? 200;
    if (answer.status !== wanted) {
      throw new Error(`${answer.request}: ${answer.status}, not ${wanted}: ${answer.text}`);
    }
    const record = toRecord(answer, baseUrl);
    if (record !== undefined) records.push(record);
  });
  return records;
}

/** The committed form of the description. */
export function writeDescription(examples: readonly ExampleRecord[]): string {
  const document = buildOpenapi(listRoutes(), { serverUrl: localServerUrl, examples });
  return `${JSON.stringify(document, null, 2)}\n`;
}

async function generate(): Promise<void> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'outlay-openapi-'));
  const config = readConfig({ PORT: '0', OUTLAY_DATA: dataDirectory, OUTLAY_LOG_LEVEL: 'error' });
  const app = await createApp(config, { role: 'all' });
  try {
    const { baseUrl, stagingFile } = await app.listen();
    const credentials = JSON.parse(readFileSync(stagingFile ?? '', 'utf8')) as StagingFile;
    const examples = await recordExamples({ baseUrl, credentials });
    writeFileSync(examplesFile, `${JSON.stringify(examples, null, 2)}\n`);
    writeFileSync(descriptionFile, writeDescription(examples));
  } finally {
    await app.close();
    rmSync(dataDirectory, { recursive: true, force: true });
  }
}

if (process.argv[1] === import.meta.filename) await generate();
