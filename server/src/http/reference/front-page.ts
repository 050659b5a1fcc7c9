import { versions } from '../../core/access.ts';
import { escapeMarkup } from '../../core/markup.ts';
import { renderPage } from './html.ts';

/** What `GET /` answers: what this is, and where everything else is. */

/** Documents that are served as they stand in `docs/`, by the name in their address. */
export const guides: ReadonlyMap<string, { title: string; file: string }> = new Map([
  ['interface', { title: 'How the API behaves', file: 'interface.md' }],
  ['batches', { title: 'Many payouts from one file', file: 'guides/batches.md' }],
  ['sdk', { title: 'From TypeScript or JavaScript', file: 'guides/sdk.md' }],
  ['command-line', { title: 'From a terminal or a script', file: 'guides/command-line.md' }],
  ['mcp', { title: 'For language models', file: 'guides/mcp.md' }],
  ['webhooks', { title: 'Events sent to your own endpoints', file: 'guides/webhooks.md' }],
  ['statements', { title: 'Statements of balances', file: 'guides/statements.md' }],
  ['receipts', { title: 'Receipts that prove themselves', file: 'guides/receipts.md' }],
  ['proofs', { title: 'Proofs that nothing was changed', file: 'guides/proofs.md' }],
  ['verification', { title: 'Identity verification', file: 'verification.md' }],
  ['sandbox', { title: 'The sandbox', file: 'sandbox.md' }],
  ['sandbox-values', { title: 'Magic values of the sandbox', file: 'sandbox-values.md' }],
]);

type FrontPage = ReturnType<typeof describeService>;

/** As JSON. `baseUrl` has no path. */
export function describeService(baseUrl: string, environment: string) {
  return {
    name: 'Outlay',
    description: 'Payouts to people in many countries and currencies',
    environment,
    versions,
    health: `${baseUrl}/health/ready`,
    reference: `${baseUrl}/docs`,
    openapi: `${baseUrl}/openapi.json`,
    token_endpoint: `${baseUrl}/oauth2/token`,
    guides: [...guides].map(([name, { title }]) => ({ title, url: `${baseUrl}/guides/${name}` })),
    first_call: `curl ${baseUrl}/${versions.at(-1)}/account/balance -H "Authorization: Bearer $API_KEY"`,
  };
}

/** As HTML. */
export function renderFrontPage(service: FrontPage): string {
  const { name, description, environment, health, reference, openapi, first_call: call } = service;
  const link = (url: string, text: string): string =>
    `<li><a href="${escapeMarkup(url)}">${text}</a></li>`;
  return renderPage(
    name,
    `<p class="kind">${environment === 'live' ? 'Live' : 'Staging: a sandbox that pays no one'}</p>
<h1>${name}</h1>
<p class="text">${description}.</p>
<h2>First call</h2>
<p>The balances of your account, with an API key of this environment:</p>
<pre tabindex="0" aria-label="First call">${escapeMarkup(call)}</pre>
<h2>Reference</h2>
<ul>
${link(reference, 'Every operation, with examples')}
${link(openapi, 'The same for generators of clients (OpenAPI 3.1)')}
${link('/problems', 'Every code, with cause and remedy')}
${link('/console', 'The console, for operators')}
${link(health, 'Health')}
</ul>
<h2>Guides</h2>
<ul>
${service.guides.map(({ title, url }) => link(url, title)).join('\n')}
</ul>`,
  );
}
