export type RecipientSearch = { q?: string; country?: string; status?: string; cursor?: string };

const names = ['q', 'country', 'status', 'cursor'] as const;

export function readRecipientSearch(search: Record<string, unknown>): RecipientSearch {
  const entries = names.flatMap((name): [string, string][] => {
    const value = search[name];
    return typeof value === 'string' && value !== '' ? [[name, value]] : [];
  });
  return Object.fromEntries(entries);
}

type Filters = Readonly<Record<string, string>>;

/** An email address or parts of a name. */
export function writeRecipientFilters({ q = '', country, status }: RecipientSearch): Filters {
  return {
    ...(q.includes('@') ? { email: q } : q.length >= 3 ? { name: q } : {}),
    ...(country === undefined ? {} : { country }),
    ...(status === undefined ? {} : { status }),
  };
}
