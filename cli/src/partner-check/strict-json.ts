/** JSON as Outlay reads it: what has two meanings, or is no text, does not count. */

const depthMax = 32;

const decoder = new TextDecoder('utf-8', { fatal: true });

export type StrictJson = { readonly json: unknown; readonly fault: string | undefined };

/** `fault`: why the body does not count. `json` is undefined where it is no JSON at all. */
export function readStrictJson(bytes: Uint8Array): StrictJson {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return { json: undefined, fault: 'the body must be UTF-8' };
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { json: undefined, fault: 'the body must be JSON' };
  }
  return { json, fault: findAmbiguity(text) };
}

const tokens = /"(?:[^"\\]|\\.)*"|[{}[\]]/g;
const notText = /[\0\p{Surrogate}]/u;

/** Of a text that is JSON. */
function findAmbiguity(text: string): string | undefined {
  /** The members of each open object so far; undefined for a list. */
  const open: (Set<string> | undefined)[] = [];
  for (const { 0: token, index } of text.matchAll(tokens)) {
    if (token === '{' || token === '[') {
      open.push(token === '{' ? new Set() : undefined);
      if (open.length > depthMax) return `the body must not be nested deeper than ${depthMax}`;
    } else if (token === '}' || token === ']') {
      open.pop();
    } else {
      const value = JSON.parse(token) as string;
      if (notText.test(value)) return 'a text must not have NUL or half of a surrogate pair';
      const members = open.at(-1);
      const isMember = /^\s*:/.test(text.slice(index + token.length, index + token.length + 64));
      if (members === undefined || !isMember) continue;
      if (members.has(value)) return `the body must not have "${value}" twice in one object`;
      members.add(value);
    }
  }
  return undefined;
}
