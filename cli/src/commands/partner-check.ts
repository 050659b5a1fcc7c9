import { defineCommand } from '../command.ts';
import { Failure, UsageError } from '../failure.ts';
import type { Output } from '../output.ts';
import { type Result, runRules } from '../partner-check/check.ts';
import { readDescription } from '../partner-check/description.ts';
import { readHistory, writeHistory } from '../partner-check/history.ts';
import { openListener } from '../partner-check/listener.ts';
import { openPartner } from '../partner-check/partner.ts';
import { rules } from '../partner-check/rules.ts';
import { printable } from '../table.ts';

export const partnerCheckCommands = [
  defineCommand({
    name: 'partner-check',
    about: 'check a server that implements the partner protocol, with test payments',
    words: ['url'],
    options: {
      file: { value: 'path', about: 'keys and test payments, as JSON' },
      port: { value: 'number', about: 'port for callbacks; default: a free one' },
      callbackUrl: {
        value: 'url',
        about: 'how the partner reaches that port; default: on this machine',
      },
      remember: {
        value: 'path',
        about: 'writes the orders there; the next run, after a restart, asks for them again',
      },
      wait: { value: 'seconds', about: 'how long a payment may take to end; default: 30' },
    },
    examples: ['partner-check http://127.0.0.1:8080/outlay/v1 --file partner-check.json'],
    run: async ({ output, signal, nowMs, sleep }, values) => {
      const url = readUrl(values.url);
      if (values.file === undefined) {
        throw new UsageError('--file is required: keys and test payments, as JSON');
      }
      const description = readDescription(values.file);
      const waitMs = readNumber('wait', values.wait ?? '30', 86_400) * 1000;
      const history = readHistory(values.remember);
      const { access } = description;
      const listener = await openListener({
        access,
        nowMs,
        port: readNumber('port', values.port ?? '0', 65_535),
        publicUrl: values.callbackUrl === undefined ? undefined : readUrl(values.callbackUrl).href,
      });
      try {
        const partner = openPartner(url.href, access, { nowMs, signal });
        const options = {
          partner,
          description,
          listener,
          history,
          waitMs,
          nowMs,
          sleep: (ms: number) => sleep(ms, signal),
        };
        const onResult = output.isJson ? () => undefined : (one: Result) => show(output, one);
        const results = await runRules(rules, options, onResult).finally(() => {
          if (values.remember !== undefined) writeHistory(values.remember, history);
        });
        report(output, results);
      } finally {
        listener.close();
      }
    },
  }),
];

/** @throws UsageError */
function readUrl(text: string): URL {
  try {
    const url = new URL(text);
    if (url.protocol === 'https:' || url.protocol === 'http:') return url;
  } catch {
    // Reported below.
  }
  throw new UsageError(`${text} must be an http or https address`);
}

function readNumber(name: string, text: string, max: number): number {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : -1;
  if (value >= 0 && value <= max) return value;
  throw new UsageError(`--${name} must be a whole number up to ${max}`);
}

function show({ note, colors }: Output, { name, rule, result, detail, exchanges }: Result): void {
  if (result === 'passed') return note(`${colors.green('passed')}  ${name}`);
  if (result === 'skipped') return note(`${colors.dim('skipped')} ${name}: ${detail ?? ''}`);
  note(`${colors.red('failed')}  ${name}: ${printable(detail ?? '')}`);
  note(`        Rule: ${rule}`);
  for (const { method, path, sent, status, received } of exchanges ?? []) {
    note(`        > ${method} ${path} ${sent}`);
    note(`        < ${status === 0 ? 'no answer' : status} ${printable(received)}`);
  }
}

/** @throws Failure where a rule failed. */
function report(output: Output, results: readonly Result[]): void {
  const count = (wanted: Result['result']): number =>
    results.filter(({ result }) => result === wanted).length;
  const summary = { passed: count('passed'), failed: count('failed'), skipped: count('skipped') };
  output.result(
    { ...summary, rules: results },
    () => `${summary.passed} passed, ${summary.failed} failed, ${summary.skipped} skipped`,
  );
  if (summary.failed === 0) return;
  const names = results.filter(({ result }) => result === 'failed').map(({ name }) => name);
  throw new Failure(`The partner breaks ${summary.failed} rules: ${names.join(', ')}.`, {
    code: 'rules_broken',
    hasResult: true,
  });
}
