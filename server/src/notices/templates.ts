import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type NoticeType, noticeTypes } from './notice-types.ts';
import { listBraceFaults, listUnknown, readTemplate, type Template } from './template.ts';

/**
 * The templates: `<language>/<type>.txt` and the page around the e-mail, `layout.html`. Those of the
 * operator's folder come first, the bundled ones stand in for what it does not have.
 */
export type Templates = {
  /** The languages that have templates of their own. */
  readonly languages: readonly string[];
  /** How many files are the operator's. */
  readonly ownCount: number;
  readonly layout: string;
  /** The template in the language, or else in English. */
  choose(language: string, type: NoticeType): { language: string; template: Template };
};

/** Its message names every fault. */
export class TemplateError extends Error {}

const bundledFolder = join(import.meta.dirname, 'templates');
const fallback = 'en';
const layoutFile = 'layout.html';
const layoutPlaceholders =
  'language direction subject sender color logo headline content test'.split(' ');
const bytesMax = 100_000;

type Folder = { layout: string | undefined; templates: ReadonlyMap<string, Template> };

/** @throws TemplateError if the operator's folder has a fault. */
export function openTemplates(folder: string | undefined): Templates {
  const bundled = readFolder(bundledFolder);
  const own =
    folder === undefined
      ? { layout: undefined, templates: new Map<string, Template>() }
      : readFolder(folder);
  const templates = new Map([...bundled.templates, ...own.templates]);
  const languages = [...new Set([...templates.keys()].map((key) => key.slice(0, 2)))].toSorted();
  return {
    languages,
    ownCount: own.templates.size + (own.layout === undefined ? 0 : 1),
    layout: own.layout ?? bundled.layout ?? '',
    choose: (language, type) => {
      const template = templates.get(`${language}/${type}`);
      if (template !== undefined) return { language, template };
      const english = templates.get(`${fallback}/${type}`);
      if (english === undefined) throw new Error(`no bundled template for ${type}`);
      return { language: fallback, template: english };
    },
  };
}

function readFolder(folder: string): Folder {
  const faults: string[] = [];
  const report = (place: string, found: readonly string[]): void => {
    faults.push(...found.map((fault) => `${place}: ${fault}`));
  };
  const templates = new Map<string, Template>();
  let layout: string | undefined;
  for (const name of list(folder)) {
    if (name === layoutFile) {
      layout = readText(join(folder, name), (fault) => report(name, [fault]));
      if (layout !== undefined) report(name, listLayoutFaults(layout));
    } else if (!/^[a-z]{2}$/.test(name) || !statSync(join(folder, name)).isDirectory()) {
      report(name, [`must be ${layoutFile} or the folder of a language, such as es`]);
    } else {
      for (const file of list(join(folder, name))) {
        const place = `${name}/${file}`;
        const type = noticeTypes.find((known) => file === `${known}.txt`);
        if (type === undefined) {
          report(place, [`must be ${noticeTypes.map((known) => `${known}.txt`).join(', ')}`]);
          continue;
        }
        const text = readText(join(folder, place), (fault) => report(place, [fault]));
        if (text === undefined) continue;
        const read = readTemplate(text, type);
        report(place, read.faults);
        templates.set(`${name}/${type}`, read.value);
      }
    }
  }
  if (faults.length > 0) throw new TemplateError(faults.join('; '));
  return { layout, templates };
}

function list(folder: string): string[] {
  try {
    // Without the files that editors and file systems keep beside the operator's.
    return readdirSync(folder)
      .filter((name) => !/^\.|~$/.test(name))
      .toSorted();
  } catch (cause) {
    throw new TemplateError(`${folder} cannot be read as a folder`, { cause });
  }
}

function readText(path: string, onFault: (fault: string) => void): string | undefined {
  const { size } = statSync(path);
  if (size > bytesMax) {
    onFault(`must have at most ${bytesMax} bytes`);
    return undefined;
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    onFault('must be UTF-8');
    return undefined;
  }
}

function listLayoutFaults(text: string): string[] {
  const unknown = listUnknown(text, layoutPlaceholders);
  return [
    ...unknown.map((name) => `{{${name}}} is not a placeholder of the layout`),
    ...listBraceFaults(text),
    ...(/\{\{ *content *\}\}/.test(text) ? [] : ['must have {{content}}']),
  ];
}
