import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';
import { firstPaint } from './first-paint.ts';

/** Where `npm run dev` sends the requests to the service. */
const service = 'http://127.0.0.1:8080';
const servicePaths =
  '^/(?:v\\d+\\.\\d+\\.\\d+/|sandbox/|console/(?:session|password|totp)|problems/|guides/|openapi\\.json)';

/** Files that are compressed already are left alone, and so are those that fit one packet. */
const compressible = /\.(?:js|css|json|svg)$/;
const bytesMin = 1_000;

/** Best compression takes too long while a browser waits, so it is done once, when the console is built. */
function compressAssets(): Plugin {
  return {
    name: 'compress-assets',
    apply: 'build',
    writeBundle: async ({ dir = '' }) => {
      const folder = join(dir, 'assets');
      const names = (await readdir(folder)).filter((name) => compressible.test(name));
      await Promise.all(
        names.map(async (name) => {
          const plain = await readFile(join(folder, name));
          if (plain.length < bytesMin) return;
          await writeFile(join(folder, `${name}.br`), await promisify(brotliCompress)(plain));
        }),
      );
    },
  };
}

/**
 * Few files: a browser has six connections to the service, and each file of a chain is a round trip. A
 * group takes what its modules import as well, unless a group of a higher priority has it.
 */
const groups = [
  { name: 'react', priority: 4, test: /node_modules[\\/](?:react|react-dom|scheduler)[\\/]/ },
  {
    name: 'sign-in',
    priority: 3,
    test: /src[\\/](?:shell[\\/](?:app|sign-in)|api[\\/]session)\.tsx?$/,
  },
  {
    name: 'shell',
    priority: 2,
    test: /src[\\/](?:router|shell[\\/](?:shell|secure)|ui[\\/](?:table|loaded|totals)|api[\\/](?:queries|operator))\.tsx?$/,
  },
  {
    name: 'dialogs',
    priority: 1,
    minShareCount: 3,
    test: /node_modules[\\/]@?react-(?:aria|stately|types)/,
  },
  { name: 'parts', minShareCount: 4, test: /console[\\/]src[\\/](?:api|format|ui[\\/](?!act))/ },
];

export default defineConfig({
  base: '/console/',
  plugins: [firstPaint(), compressAssets()],
  // The server puts a new nonce in its place with every answer (server/src/console/pages.ts).
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    target: ['chrome120', 'firefox121', 'safari17'],
    assetsInlineLimit: 0,
    // One request before the first paint; the styles of all pages together are 8 kB.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // Directives for servers that render components, which ours does not.
      checks: { moduleLevelDirective: false },
      output: {
        codeSplitting: {
          groups,
        },
      },
    },
  },
  server: { host: '127.0.0.1', proxy: { [servicePaths]: service } },
});
