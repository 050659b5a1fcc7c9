/** `of`: the token of a recipient or a payout. */
export type ScreeningSearch = { of?: string };

export function readScreeningSearch({ of }: Record<string, unknown>): ScreeningSearch {
  return typeof of === 'string' && of !== '' ? { of } : {};
}
