import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  type CallToolResult,
  ElicitationCompleteNotificationSchema,
  ElicitRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import type { Service } from './service.ts';

/** The official client of the Model Context Protocol, over stdio with `outlay mcp`. */

export const cliMain = join(import.meta.dirname, '../cli/src/main.ts');

/** Of a command line with the profiles of this folder; with the compiled code of earlier runs. */
export function cliEnvironment(folder: string): Record<string, string> {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env;
  return {
    PATH,
    XDG_CONFIG_HOME: folder,
    ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
  };
}

/** A folder of profiles, each with its key. */
export async function createProfiles(
  { baseUrl }: Service,
  keys: Readonly<Record<string, string>>,
): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'outlay-profiles-'));
  const profiles = Object.fromEntries(
    Object.entries(keys).map(([name, key]) => [name, { base_url: baseUrl, api_key: key }]),
  );
  await mkdir(join(folder, 'outlay'));
  await writeFile(join(folder, 'outlay/config.json'), JSON.stringify({ profiles }));
  return { folder, remove: () => rm(folder, { recursive: true }) };
}

type Row = Record<string, string>;

export type Model = {
  readonly client: Client;
  /** Everything that tools answered, as the model reads it. */
  readonly read: string[];
  /** What the person was asked to open. */
  readonly opened: { url: string; elicitationId: string }[];
  readonly completed: string[];
  /** The structured result. @throws Error for an error of the tool. */
  call<T = Record<string, unknown>>(name: string, values?: Record<string, unknown>): Promise<T>;
  /** The code of an error. */
  fail(name: string, values: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
};

/** `opens`: what the person does with a link; undefined: the client cannot show links. */
export async function startModel(
  folder: string,
  { words, opens }: { words: readonly string[]; opens?: 'accept' | 'decline' },
): Promise<Model> {
  const capabilities = opens === undefined ? {} : { elicitation: { url: {} } };
  const client = new Client({ name: 'test', version: '1.0.0' }, { capabilities });
  const read: string[] = [];
  const opened: Model['opened'] = [];
  const completed: string[] = [];
  if (opens !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      if (params.mode !== 'url') throw new Error('only links are expected');
      opened.push({ url: params.url, elicitationId: params.elicitationId });
      return { action: opens };
    });
    client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
      completed.push(params.elicitationId);
    });
  }
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', cliMain, 'mcp', ...words],
    env: cliEnvironment(folder),
  });
  await client.connect(transport);
  // From now on the client checks results by the schemas of the tools.
  await client.listTools();
  const call = async (name: string, values: Record<string, unknown>): Promise<CallToolResult> => {
    const result = (await client.callTool({ name, arguments: values })) as CallToolResult;
    read.push(JSON.stringify(result));
    return result;
  };
  return {
    client,
    read,
    opened,
    completed,
    call: async <T>(name: string, values: Record<string, unknown> = {}): Promise<T> => {
      const result = await call(name, values);
      if (result.isError === true) throw new Error(JSON.stringify(result.content));
      return result.structuredContent as T;
    },
    fail: async (name, values) => {
      const result = await call(name, values);
      if (result.isError !== true) throw new Error(`${name} did not fail`);
      const [content] = result.content;
      const { code } = JSON.parse(content?.type === 'text' ? content.text : '{}') as Row;
      return code ?? '';
    },
    close: () => client.close(),
  };
}
