import { defineConfig } from 'vite';

/** Where `npm run dev` sends the requests to the service. */
const service = 'http://127.0.0.1:8080';
const servicePaths =
  '^/(?:v\\d+\\.\\d+\\.\\d+/|sandbox/|console/(?:session|password|totp)|problems/|guides/|openapi\\.json)';

export default defineConfig({
  base: '/console/',
  // The server puts a new nonce in its place with every answer (server/src/console/pages.ts).
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    target: ['chrome120', 'firefox121', 'safari17'],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // Directives for servers that render components, which ours does not.
      checks: { moduleLevelDirective: false },
      output: {
        codeSplitting: {
          groups: [{ name: 'react', test: /node_modules[\\/](?:react|react-dom|scheduler)[\\/]/ }],
        },
      },
    },
  },
  server: { host: '127.0.0.1', proxy: { [servicePaths]: service } },
});
