import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { escapeMarkup } from '../core/markup.ts';
import { findLanguage, type Language, type Wish } from './languages.ts';
import { type PageFile, pageHeaders } from './page-files.ts';

/**
 * What a browser shows where a page behind a link cannot be served now: a page without a program, because
 * the files of the program may be refused too.
 */
export function createProblemPage(
  languages: ReadonlyMap<string, Language>,
): (status: number, request: Wish) => PageFile | undefined {
  const template = readFileSync(join(import.meta.dirname, 'page', 'problem.html'), 'utf8');
  return (status, request) => {
    const key = findTextKey(status);
    if (key === undefined) return undefined;
    const { code, dir, texts } = findLanguage(languages, request);
    const values: Readonly<Record<string, string>> = {
      lang: code,
      dir,
      text: escapeMarkup(texts[key] ?? ''),
      again: escapeMarkup(texts['tryAgain'] ?? ''),
    };
    const body = template.replaceAll(
      /\{\{([a-z]+)\}\}/g,
      (_match, name) => values[String(name)] ?? '',
    );
    return { status, contentType: 'text/html; charset=utf-8', body, headers: pageHeaders };
  };
}

/** As the program of the pages chooses it for its own requests. */
function findTextKey(status: number): string | undefined {
  if (status === 429 || status === 503) return 'busy';
  return status >= 500 ? 'serverProblem' : undefined;
}
