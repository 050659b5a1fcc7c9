import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { promisify } from 'node:util';
import {
  context,
  newInstruction,
  openPartnerRail,
  startPartner,
} from '../../../testing/setups/partner.ts';

/** Needs `sh`, `openssl`, `curl` and the usual small programs on the PATH. */

const run = promisify(execFile);

function readScript(): string {
  const text = readFileSync(new URL('./README.md', import.meta.url), 'utf8');
  const scripts = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, script = '']) => script);
  const script = scripts.find((each) => each.includes('openssl dgst'));
  assert.ok(script !== undefined);
  return script;
}

test('the commands of the README ask for a payment and are answered', async () => {
  const partner = await startPartner();
  const subject = await openPartnerRail({ keys: partner.keys, url: partner.url });
  try {
    const instruction = newInstruction();
    await subject.rail.send(instruction, context);
    const { id, key } = partner.keys.outlay;
    const ask = async (variables: Record<string, string>) => {
      const env = { ...process.env, BASE_URL: partner.url, KEY_ID: id, KEY: key, ...variables };
      return (await run('sh', ['-e', '-c', readScript()], { env })).stdout;
    };
    const answer = await ask({ REFERENCE: instruction.reference });
    assert.match(answer, /^HTTP\/1.1 200 /);
    assert.match(answer, new RegExp(`"reference":"${instruction.reference}"`));
    assert.match(await ask({ REFERENCE: 'nothing' }), /"error":"unknown_reference"/);
    const other = Buffer.alloc(32, 7).toString('base64');
    assert.match(await ask({ REFERENCE: 'nothing', KEY: other }), /"error":"signature_refused"/);
  } finally {
    await subject.close();
    await partner.close();
  }
});
