import { createRequire } from 'node:module';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createMcpServer, type McpOptions } from './server.ts';

/** Serves over stdin and stdout until the client closes them. */
export async function serveMcp(
  options: Omit<McpOptions, 'version'> & { signal: AbortSignal },
): Promise<void> {
  const { signal, ...rest } = options;
  const mcp = createMcpServer({ ...rest, version: readVersion() });
  const ended = new Promise<void>((resolve) => {
    mcp.server.onclose = resolve;
    // The transport does not notice the end of its input.
    process.stdin.once('end', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await mcp.connect(new StdioServerTransport());
  await ended;
  await mcp.close();
}

function readVersion(): string {
  const found = createRequire(import.meta.url)('outlay/package.json') as { version: string };
  return found.version;
}
