import { readdirSync, rmSync } from 'node:fs';
import { flushCompileCache, getCompileCacheDir } from 'node:module';
import {
  createTemplate,
  dropTemplate,
  SERVER_URL_VARIABLE,
  startTestServer,
  TEMPLATE_VARIABLE,
} from './database.ts';
import { CLUSTER_VARIABLE, makeCluster } from './prepared-cluster.ts';

/**
 * Runs once before and once after all test files (`node --test-global-setup`), so that they share
 * a server and a migrated template. The test files inherit the variables that are set here.
 */

let stop = async (): Promise<void> => undefined;

export async function globalSetup(): Promise<void> {
  await Promise.all([startServer(), compileProgram()]);
}

/** In a new checkout nothing is compiled, and the groups that start together would each do it. */
async function compileProgram(): Promise<void> {
  const folder = getCompileCacheDir();
  if (folder === undefined || readdirSync(folder).length > 0) return;
  await import('../../src/app.ts');
  flushCompileCache();
}

async function startServer(): Promise<void> {
  const external = process.env['TEST_DATABASE_URL'];
  const isExternal = external !== undefined && external !== '';
  const cluster = isExternal ? undefined : await makeCluster();
  if (cluster !== undefined) process.env[CLUSTER_VARIABLE] = cluster;
  const server = isExternal ? undefined : await startTestServer();
  const template = await createTemplate(server?.connectionUrl('postgres') ?? external ?? '');
  process.env[SERVER_URL_VARIABLE] = template.serverUrl;
  process.env[TEMPLATE_VARIABLE] = template.name;
  stop = async () => {
    await (server?.close() ?? dropTemplate(template));
    if (cluster !== undefined) rmSync(cluster, { recursive: true, force: true });
  };
}

export async function globalTeardown(): Promise<void> {
  await stop();
}
