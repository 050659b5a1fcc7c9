import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { XmlDocument, XsdValidator } from 'libxml2-wasm';

/** OUTLAY_SHARED_DATA names the folder that holds `iso20022`. */
const schemaFolder = join(process.env['OUTLAY_SHARED_DATA'] ?? 'shared/data', 'iso20022');
const hasXmllint = spawnSync('xmllint', ['--version']).status === 0;

/**
 * Validates a message against the schema of the registration authority that it says it is of, by up to
 * two builds of libxml2; answers its name.
 */
export async function validateXml(text: string): Promise<string> {
  const name = /xsd:([a-z]{4}\.\d{3}\.\d{3}\.\d{2})"/.exec(text)?.[1] ?? 'nothing';
  const schemaPath = join(schemaFolder, `${name}.xsd`);
  const schemaDocument = XmlDocument.fromBuffer(await readFile(schemaPath));
  const validator = XsdValidator.fromDoc(schemaDocument);
  const document = XmlDocument.fromString(text);
  try {
    validator.validate(document);
  } finally {
    document.dispose();
    validator.dispose();
    schemaDocument.dispose();
  }
  if (hasXmllint) {
    const { status, stderr } = spawnSync('xmllint', ['--noout', '--schema', schemaPath, '-'], {
      input: text,
    });
    assert.equal(status, 0, stderr.toString());
  }
  return name;
}
