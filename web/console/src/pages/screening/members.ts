import { readable } from '../../format/words.ts';

/**
 * Results of screening as lines of text. Their members are those of the service (docs/guides/screening.md)
 * and are shown whatever they are, so that no evidence is hidden from who decides.
 */

export type Line = { name: string; text: string };

/** `matchedOn` and `date_of_birth` as words: "Matched on", "Date of birth". */
export function nameMember(member: string): string {
  const words = member
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
    .replace(/ (?:at )?ms$/, ' at')
    .replace(/ permille$/, ', of 1000');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Empty members are left out, and members of members stand in one line each. */
export function describeMembers(value: Readonly<Record<string, unknown>>): Line[] {
  return Object.entries(value).flatMap(([member, of]) => {
    if (isRecord(of)) return describeMembers(of);
    const text = describeValue(member, of);
    return text === '' ? [] : [{ name: nameMember(member), text }];
  });
}

function describeValue(member: string, value: unknown): string {
  if (typeof value === 'number' && /Ms$|_ms$/.test(member)) return new Date(value).toISOString();
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return isCode(member, value) ? readable(value) : value;
  if (typeof value === 'number') return String(value);
  if (Array.isArray(value)) return value.map((item) => describeValue('', item)).join('; ');
  if (!isRecord(value)) return '';
  return describeMembers(value)
    .map(({ name, text }) => `${name}: ${text}`)
    .join(', ');
}

/** Words of the service's own; identifiers of lists and names stay as they are. */
function isCode(member: string, value: string): boolean {
  return member !== 'list' && /^[a-z]+(?:_[a-z]+)+$/.test(value);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The hits of a result, each with its members; none where it has no hits. */
export function listHits({ hits }: Readonly<Record<string, unknown>>): Record<string, unknown>[] {
  if (!Array.isArray(hits)) return [];
  return hits.filter(
    (hit): hit is Record<string, unknown> => typeof hit === 'object' && hit !== null,
  );
}

/** Text of a member; "" where it is none. */
export function readMember(value: Readonly<Record<string, unknown>>, ...names: string[]): string {
  const found = names.map((name) => value[name]).find((member) => member !== undefined);
  return typeof found === 'string' || typeof found === 'number' ? String(found) : '';
}
