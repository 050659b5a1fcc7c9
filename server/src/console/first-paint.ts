import { z } from 'zod';

/**
 * What a page of the console shows before its program runs. The build writes it for each page
 * (web/console/first-paint.ts), and the answer of the page carries it.
 */

const part = z.object({ head: z.string(), body: z.string() });
const schema = z.object({ signIn: part, pages: z.array(part.extend({ path: z.string() })) });

export type FirstPaint = z.output<typeof schema>;

export function parseFirstPaint(text: string): FirstPaint {
  return schema.parse(JSON.parse(text));
}

type Asked = { pathname: string; hasSession: boolean };

/** Empty for an address that no page has: the program says so. */
export function findFirstPaint(
  { signIn, pages }: FirstPaint,
  { pathname, hasSession }: Asked,
): z.output<typeof part> {
  if (!hasSession) return signIn;
  return pages.find(({ path }) => isMatch(path, pathname)) ?? { head: '', body: '' };
}

/** A part of the pattern that begins with `$` stands for any one part of the address. */
function isMatch(pattern: string, pathname: string): boolean {
  const wanted = split(pattern);
  const given = split(pathname);
  return (
    wanted.length === given.length &&
    wanted.every((name, index) => name.startsWith('$') || name === given[index])
  );
}

const split = (path: string): string[] => path.split('/').filter((name) => name !== '');
