import { dirname, relative } from 'node:path';
import type { Config, Role } from '../config.ts';
import { newestVersion } from '../core/access.ts';

/** The text that a start prints. */
export function describeStart(
  config: Config,
  started: {
    role: Role;
    baseUrl: string;
    stagingFile: string | undefined;
    consoleLink: string | undefined;
    healthPort: number | undefined;
  },
): string {
  const { role, baseUrl, stagingFile, consoleLink, healthPort } = started;
  const health = healthPort === undefined ? baseUrl : `http://${config.HOST}:${healthPort}`;
  if (role === 'work') {
    return `Outlay is ready for background work. Health and metrics: ${health}/metrics\n`;
  }
  const lines = ['', '  Outlay is ready.', '', `  API          ${baseUrl}/${newestVersion}`];
  lines.push(`  Reference    ${baseUrl}/docs`);
  lines.push(`  Console      ${consoleLink ?? `${baseUrl}/console`}`);
  if (healthPort !== undefined) lines.push(`  Health       ${health}/health/ready`);
  if (stagingFile !== undefined) {
    const near = relative(process.cwd(), stagingFile);
    const path = near.startsWith('..') ? stagingFile : near;
    // The command line finds the default folder by itself.
    const data = near === '.outlay/staging.json' ? '' : `OUTLAY_DATA=${quote(dirname(path))} `;
    const key = `$(sed -n 's/.*"api_key": "\\([^"]*\\)".*/\\1/p' ${quote(path)})`;
    lines.push(
      `  Credentials  ${path}`,
      '',
      '  The balances of the Demo account, by command line and by curl, and a first payout:',
      '',
      `    ${data}npm run -s outlay -- balances`,
      `    curl -s ${baseUrl}/${newestVersion}/account/balance -H "Authorization: Bearer ${key}"`,
      `    ${data}npm run -s outlay -- pay`,
    );
  }
  if (config.OUTLAY_ENVIRONMENTS.includes('live')) {
    lines.push(
      '',
      '  In live, operators create accounts and credentials: docs/guides/operators.md',
    );
  }
  lines.push(
    '',
    `  Ctrl-C stops it. Settings: .env.example. Environments: ${config.OUTLAY_ENVIRONMENTS}.`,
    '',
    '',
  );
  return lines.join('\n');
}

function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
