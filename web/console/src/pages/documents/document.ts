import { ProblemError } from '../../../../../sdk/src/errors.ts';

/**
 * A JSON document that is edited as text and by forms. The text is what counts: a form reads its values
 * from the parsed text, and writes the changed document back as text. Members that no form knows stay.
 */

export type Members = Readonly<Record<string, unknown>>;

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Undefined where the text is not a JSON object. */
export function readDocument(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isMembers(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function writeDocument(document: Members): string {
  return JSON.stringify(document, null, 2);
}

/** The list of objects under the name, [] where there is none; undefined where it is something else. */
export function readEntries(document: Members, name: string): readonly Members[] | undefined {
  const value = document[name] ?? [];
  return Array.isArray(value) && value.every(isMembers) ? value : undefined;
}

/** The object under the name; {} where there is none. */
export function readMembers(members: Members, name: string): Members {
  const value = members[name];
  return isMembers(value) ? value : {};
}

/** A text, number or truth value as text; "" for anything else. */
export function readText(members: Members, name: string): string {
  const value = members[name];
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : '';
}

export function readTexts(members: Members, name: string): readonly string[] {
  const value = members[name];
  return Array.isArray(value) ? value.map(String) : [];
}

/** With the member set; "", an empty list and an empty object remove it. */
export function setMember(members: Members, name: string, value: unknown): Members {
  const isEmpty =
    value === undefined ||
    value === '' ||
    (Array.isArray(value) && value.length === 0) ||
    (isMembers(value) && Object.keys(value).length === 0);
  const { [name]: _old, ...others } = members;
  if (isEmpty) return others;
  return name in members ? { ...members, [name]: value } : { ...others, [name]: value };
}

/** A whole number as a number; other texts stay texts, which the service refuses with the place. */
export function toCount(text: string): number | string {
  return /^-?\d{1,9}$/.test(text.trim()) ? Number(text) : text;
}

/** Values between commas, without the spaces around them. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

export type DocumentFault = { place: string; detail: string };

/**
 * The faults of a document, each with its place in it ("" for the document), from a refusal such as
 * `policy has faults: rules.0.name: …; rules.1.approvers: …`.
 */
export function listFaults(error: unknown): DocumentFault[] {
  if (!(error instanceof ProblemError)) return [];
  return error.faults.flatMap(({ detail = '' }: { detail?: string }) =>
    detail
      .replace(/^(?:policy|changes)(?: has faults:)? /, '')
      .split(/; (?=(?:rules|examples|payers|rails|routing)\b)/)
      .map((text): DocumentFault => {
        const found = /^((?:rules|examples|payers|rails|routing)[^:\s]*): (.*)$/s.exec(text);
        return { place: found?.[1] ?? '', detail: found?.[2] ?? text };
      }),
  );
}

/** The faults inside an entry, with places that begin there: `when.amount` of `rules.0.when.amount`. */
export function faultsWithin(faults: readonly DocumentFault[], place: string): DocumentFault[] {
  return faults.flatMap((fault) => {
    if (fault.place === place) return [{ ...fault, place: '' }];
    const prefix = `${place}.`;
    return fault.place.startsWith(prefix)
      ? [{ ...fault, place: fault.place.slice(prefix.length) }]
      : [];
  });
}

/** The sentence about one member or what is inside it. */
export function faultAt(faults: readonly DocumentFault[], member: string): string | undefined {
  return faults.find(({ place }) => place === member || place.startsWith(`${member}.`))?.detail;
}
