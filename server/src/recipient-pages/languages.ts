import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** The languages of the pages: one file of texts each, all with the same keys. */

const folder = join(import.meta.dirname, 'page', 'texts');

export type Language = {
  readonly code: string;
  readonly texts: Readonly<Record<string, string>>;
  /** `name`: of the language in itself; `dir`: of its script. */
  readonly name: string;
  readonly dir: 'ltr' | 'rtl';
};

export const fallback = 'en';

const textsSchema = z.record(z.string(), z.string());

/** @throws ZodError where a file is not an object of texts, so that the service does not start. */
export function readLanguages(): ReadonlyMap<string, Language> {
  const languages = new Map<string, Language>();
  for (const file of readdirSync(folder).toSorted()) {
    const texts = textsSchema.parse(JSON.parse(readFileSync(join(folder, file), 'utf8')));
    const { 'language.name': name = '', 'language.dir': dir } = texts;
    const code = file.replace(/\.json$/, '');
    languages.set(code, { code, texts, name, dir: dir === 'rtl' ? 'rtl' : 'ltr' });
  }
  return languages;
}

/** Of a request: its parameters, and its headers by their names in lower case. */
export type Wish = {
  readonly query: Readonly<Record<string, unknown>>;
  header(name: string): string;
};

/** `user`: the language of the recipient, "" where it is not known. */
export function findLanguage(
  languages: ReadonlyMap<string, Language>,
  request: Wish,
  user = '',
): Language {
  const query = request.query['lang'];
  return chooseLanguage(languages, {
    query: typeof query === 'string' ? query : '',
    header: request.header('accept-language'),
    user,
  });
}

/** The first language that is wanted and there: of the address, of the browser, of the user. */
function chooseLanguage(
  languages: ReadonlyMap<string, Language>,
  wanted: { query: string; header: string; user: string },
): Language {
  const accepted = readWeights(wanted.header);
  for (const tag of [wanted.query, ...accepted, wanted.user, fallback]) {
    const found = languages.get(tag.toLowerCase().split(/[-_]/)[0] ?? '');
    if (found !== undefined) return found;
  }
  throw new Error('the texts of the fallback language are missing');
}

/** The languages of an Accept-Language header (RFC 9110 12.5.4), the most wanted first. */
function readWeights(header: string): string[] {
  const ranges = header.slice(0, 500).split(',');
  return ranges
    .map((range) => {
      const [tag = '', ...parameters] = range.split(';').map((part) => part.trim());
      const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
      return { tag: tag === 'in' ? 'id' : tag, weight: weight === undefined ? 1 : Number(weight) };
    })
    .filter(({ tag, weight }) => tag !== '*' && weight > 0)
    .toSorted((a, b) => b.weight - a.weight)
    .map(({ tag }) => tag);
}
