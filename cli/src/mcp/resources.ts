import { type McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { ReadResourceResult } from '@modelcontextprotocol/sdk/types.js';
import { type Client, downloadReceipt } from '../../../sdk/src/index.ts';
import { Failure } from '../failure.ts';

/** What a model can read besides the results of tools: guides, pages of codes, receipts. */

type Variables = Readonly<Record<string, string | string[]>>;

const read = (variables: Variables, name: string): string => {
  const value = variables[name];
  return typeof value === 'string' ? value : '';
};

export function addResources(mcp: McpServer, client: Client): void {
  mcp.registerResource(
    'guides',
    'outlay://guides',
    { title: 'Guides', description: 'The list of guides, as JSON', mimeType: 'application/json' },
    async ({ href }, { signal }) => {
      const { body } = await client.request(
        { method: 'GET', path: '/', isVersioned: false },
        { signal },
      );
      return textOf(href, { mimeType: 'application/json', text: JSON.stringify(body) });
    },
  );
  mcp.registerResource(
    'guide',
    new ResourceTemplate('outlay://guide/{name}', { list: undefined }),
    {
      title: 'A guide',
      description: 'Such as interface, webhooks or mcp',
      mimeType: 'text/markdown',
    },
    async ({ href }, variables, { signal }) => {
      const path = `/guides/${encodeURIComponent(read(variables, 'name'))}`;
      const accept = 'text/plain';
      const call = { method: 'GET', path, isVersioned: false };
      const { body } = await client.request(call, { signal, accept });
      return textOf(href, { mimeType: 'text/markdown', text: String(body) });
    },
  );
  mcp.registerResource(
    'problem',
    new ResourceTemplate('outlay://problem/{code}', { list: undefined }),
    { title: 'A code', description: 'Cause and remedy of a code', mimeType: 'text/html' },
    async ({ href }, variables, { signal }) => {
      const path = `/problems/${encodeURIComponent(read(variables, 'code'))}`;
      const call = { method: 'GET', path, isVersioned: false };
      const { body } = await client.request(call, { signal, accept: 'text/html' });
      return textOf(href, { mimeType: 'text/html', text: String(body) });
    },
  );
  mcp.registerResource(
    'receipt',
    new ResourceTemplate('outlay://receipt/{user_token}/{payout_token}', { list: undefined }),
    { title: 'A receipt', description: 'The signed PDF of a payout', mimeType: 'application/pdf' },
    async ({ href }, variables, { signal }) => {
      const address = {
        user_token: read(variables, 'user_token'),
        payout_token: read(variables, 'payout_token'),
      };
      await refuseBearer(client, address, signal);
      const bytes = await downloadReceipt(client, address, signal);
      const blob = Buffer.from(bytes).toString('base64');
      return { contents: [{ uri: href, mimeType: 'application/pdf', blob }] };
    },
  );
}

/** @throws Failure where the receipt shows the code with which anyone can collect the cash. */
async function refuseBearer(
  client: Client,
  address: { user_token: string; payout_token: string },
  signal: AbortSignal,
): Promise<void> {
  const { pickup_code: code, status } = await client.getPayout(address, { signal });
  if (code === '' || ['COMPLETED', 'CANCELLED'].includes(status)) return;
  throw new Failure(
    'The receipt shows the pickup code until the cash is collected: the person gets it with `outlay payout receipt`',
  );
}

function textOf(uri: string, content: { mimeType: string; text: string }): ReadResourceResult {
  return { contents: [{ uri, ...content }] };
}
