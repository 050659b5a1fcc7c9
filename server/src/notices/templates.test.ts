import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { noticeTypes } from './notice-types.ts';
import { openTemplates, TemplateError } from './templates.ts';

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outlay-templates-'));
});
after(() => rm(folder, { recursive: true }));

async function writeFolder(files: Readonly<Record<string, string | Buffer>>): Promise<string> {
  const root = await mkdtemp(join(folder, 'own-'));
  for (const [name, content] of Object.entries(files)) {
    await mkdir(join(root, name, '..'), { recursive: true });
    await writeFile(join(root, name), content);
  }
  return root;
}

async function listFaults(files: Readonly<Record<string, string | Buffer>>): Promise<string[]> {
  const root = await writeFolder(files);
  try {
    openTemplates(root);
  } catch (error) {
    assert.ok(error instanceof TemplateError);
    return error.message.split('; ').toSorted();
  }
  return [];
}

test('at least twelve languages have a template of their own for every notice', () => {
  const { languages, choose } = openTemplates(undefined);
  assert.ok(languages.length >= 12);
  for (const required of ['ar', 'he', 'ur']) assert.ok(languages.includes(required));
  for (const language of languages) {
    for (const type of noticeTypes) assert.equal(choose(language, type).language, language);
  }
});

test('every bundled e-mail greets, links to the receipt and names the reference', () => {
  const { languages, choose } = openTemplates(undefined);
  for (const language of languages) {
    for (const type of noticeTypes) {
      const { paragraphs } = choose(language, type).template;
      const text = paragraphs.map((each) => (each.kind === 'text' ? each.text : '')).join('\n');
      const place = `${language}/${type}`;
      assert.match(text, /\{\{recipient\}\}/, place);
      assert.match(text, /\{\{reference\}\}/, place);
      assert.match(text, /\{\{amount\}\}/, place);
      assert.ok(
        paragraphs.some(({ kind }) => kind === 'link'),
        place,
      );
    }
  }
});

test('a language without templates gets English', () => {
  const chosen = openTemplates(undefined).choose('mi', 'completed');
  assert.equal(chosen.language, 'en');
});

test("the operator's template replaces the bundled one, and the others stay", async () => {
  const root = await writeFolder({
    'mi/completed.txt': 'subject: Kua tae {{amount}}\nsms: {{amount}}\n\nKia ora {{ recipient }}\n',
    'en/completed.txt': 'sms: Paid {{amount}}\r\nsubject: Paid\r\n\r\nPaid.\r\n',
    'layout.html': '<p>{{content}}</p>',
    '.DS_Store': Buffer.of(0, 255),
  });
  const templates = openTemplates(root);
  assert.equal(templates.ownCount, 3);
  assert.equal(templates.choose('mi', 'completed').template.subject, 'Kua tae {{amount}}');
  assert.equal(templates.choose('mi', 'canceled').language, 'en');
  assert.deepEqual(templates.choose('en', 'completed').template, {
    subject: 'Paid',
    sms: 'Paid {{amount}}',
    paragraphs: [{ kind: 'text', text: 'Paid.' }],
  });
  assert.equal(templates.layout, '<p>{{content}}</p>');
});

test('every fault of a folder is named with its file', async () => {
  const faults = await listFaults({
    'en/completed.txt': 'subject: {{amuont}}\nsms: {{arrival}}\n\nHello {{name\n',
    'en/committed.txt': 'Subject: x\n\n',
    'en/ready_for_pickup.txt': 'subject: x\nsms: y\n\nCome.\n',
    'en/paid.txt': 'subject: x\nsms: y\n\nz\n',
    'es/canceled.txt': Buffer.from([0x73, 0xff, 0xfe]),
    'layout.html': '<p>{{contents}}</p>',
    'notes.txt': 'x',
  });
  const types = noticeTypes.map((type) => `${type}.txt`).join(', ');
  assert.deepEqual(faults, [
    'en/committed.txt: has no paragraph after the empty line',
    'en/committed.txt: has no sms:',
    'en/committed.txt: has no subject:',
    'en/committed.txt: the first lines must be subject: and sms:, not "Subject: x"',
    'en/completed.txt: has {{ or }} that belong to no placeholder (names have the letters a to z and _)',
    'en/completed.txt: {{amuont}} is not a placeholder',
    'en/completed.txt: {{arrival}} is not a placeholder here: it belongs to committed',
    `en/paid.txt: must be ${types}`,
    'en/ready_for_pickup.txt: sms must have {{pickup_code}}',
    'en/ready_for_pickup.txt: the e-mail must have {{pickup_code}}',
    'es/canceled.txt: must be UTF-8',
    'layout.html: must have {{content}}',
    'layout.html: {{contents}} is not a placeholder of the layout',
    'notes.txt: must be layout.html or the folder of a language, such as es',
  ]);
});

test('a folder that is not there is a fault', () => {
  assert.throws(() => openTemplates(join(folder, 'missing')), /cannot be read as a folder/);
});
