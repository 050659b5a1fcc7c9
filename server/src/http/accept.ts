/** The Accept header (RFC 9110 12.5.1): of weighted ranges the most specific one counts. */

type Preference = { quality: number; isNamed: boolean };

/** The weight of a media type, and whether the header names it in full. */
export function getPreference(accept: string, type: string): Preference {
  if (accept.trim() === '') return { quality: 1, isNamed: false };
  const family = `${type.split('/', 1)[0]}/*`;
  let best: Preference & { rank: number } = { quality: 0, isNamed: false, rank: 0 };
  for (const part of accept.toLowerCase().split(',')) {
    // A pattern with spaces on both sides of the semicolon would take quadratic time.
    const [range = '', ...parameters] = part.split(';').map((text) => text.trim());
    const rank = [undefined, '*/*', family, type].indexOf(range);
    if (rank <= best.rank) continue;
    const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
    const quality = weight === undefined ? 1 : Number(weight);
    best = { quality: Number.isNaN(quality) ? 0 : quality, isNamed: rank === 3, rank };
  }
  return best;
}

export function isAcceptable(accept: string, types: readonly string[]): boolean {
  return types.some((type) => getPreference(accept, type).quality > 0);
}

/** Whether a client prefers a type to JSON, the default. */
export function isPreferredToJson(accept: string, type: string): boolean {
  const wanted = getPreference(accept, type);
  const json = getPreference(accept, 'application/json');
  if (wanted.quality !== json.quality) return wanted.quality > json.quality;
  return wanted.quality > 0 && wanted.isNamed && !json.isNamed;
}
