/** The view of the list of payouts, whole in the address. */
export type PayoutSearch = {
  q?: string;
  status?: string;
  country?: string;
  delivery?: string;
  recipient?: string;
  from?: string;
  to?: string;
  cursor?: string;
};

const names = ['q', 'status', 'country', 'delivery', 'recipient', 'from', 'to', 'cursor'] as const;

export function readPayoutSearch(search: Record<string, unknown>): PayoutSearch {
  const entries = names.flatMap((name): [string, string][] => {
    const value = search[name];
    if (typeof value !== 'string' && typeof value !== 'number') return [];
    return value === '' ? [] : [[name, String(value)]];
  });
  return Object.fromEntries(entries);
}

export function isSameSearch(a: PayoutSearch, b: PayoutSearch): boolean {
  return names.every((name) => a[name] === b[name]);
}

export type PayoutFilters = Readonly<Record<string, string | Record<string, string>>>;

/**
 * The query of the API. A search text is a token, a `key=value` of the metadata, or a client transfer
 * id; names of recipients are looked up apart (the list is not searched by them).
 */
export function writePayoutFilters(search: PayoutSearch): PayoutFilters {
  const { status, country, delivery, recipient, from, to } = search;
  const plain = { status, country, delivery_type: delivery, user_token: recipient, from, to };
  const present = Object.entries(plain).filter((entry): entry is [string, string] =>
    Boolean(entry[1]),
  );
  return { ...Object.fromEntries(present), ...readText(search.q ?? '') };
}

function readText(text: string): PayoutFilters {
  if (text === '') return {};
  if (text.startsWith('payout_')) return { payout_token: text };
  if (text.startsWith('usr_')) return { user_token: text };
  const [, key, value] = /^([^=]{1,100})=(.*)$/s.exec(text) ?? [];
  if (key !== undefined && value !== undefined) return { metadata: { [key]: value } };
  return { client_transfer_id: text.slice(0, 50) };
}

/** Whether the text can be the name of a recipient. */
export function isNameLike(text: string): boolean {
  return text.length >= 3 && !/^(?:payout_|usr_)|=/.test(text);
}
