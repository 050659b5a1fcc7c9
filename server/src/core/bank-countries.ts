/** Which countries' banks an account and a bank's code can belong to. Countries are alpha-2. */

/** Territories whose accounts carry the IBAN of the state they belong to. */
export const ibanOwners: Readonly<Record<string, string>> = {
  AX: 'FI',
  BL: 'FR',
  GF: 'FR',
  GG: 'GB',
  GP: 'FR',
  IM: 'GB',
  JE: 'GB',
  MF: 'FR',
  MQ: 'FR',
  NC: 'FR',
  PF: 'FR',
  PM: 'FR',
  RE: 'FR',
  SJ: 'NO',
  TF: 'FR',
  WF: 'FR',
  YT: 'FR',
};

/**
 * Countries whose banks may have the BIC of a neighbour or of the state they belong to: a bank of
 * Monaco is often a French one.
 */
export const bicNeighbours: Readonly<Record<string, readonly string[]>> = {
  AS: ['US'],
  AX: ['FI'],
  BL: ['FR', 'GP'],
  CC: ['AU'],
  CK: ['NZ'],
  CX: ['AU'],
  EH: ['MA'],
  GF: ['FR'],
  GG: ['GB'],
  GP: ['FR'],
  GU: ['US'],
  IM: ['GB'],
  JE: ['GB'],
  LI: ['CH'],
  MC: ['FR'],
  MF: ['FR', 'GP'],
  MP: ['GU', 'US'],
  MQ: ['FR'],
  NC: ['FR'],
  NF: ['AU'],
  NR: ['AU'],
  NU: ['NZ'],
  PF: ['FR'],
  PM: ['FR'],
  PN: ['NZ'],
  PR: ['US'],
  RE: ['FR'],
  SJ: ['NO'],
  SM: ['IT'],
  SX: ['CW'],
  TF: ['FR'],
  TK: ['NZ', 'WS'],
  UM: ['US'],
  VA: ['IT'],
  VI: ['US'],
  WF: ['FR', 'NC'],
  YT: ['FR', 'RE'],
};

/** Whether a bank with this SWIFT/BIC can keep accounts of the country, or with its IBAN. */
export function isBicOfCountry(bic: string, country: string): boolean {
  const owner = bic.slice(4, 6);
  return (
    owner === country ||
    (bicNeighbours[owner] ?? []).includes(country) ||
    (bicNeighbours[country] ?? []).includes(owner) ||
    ibanOwners[owner] === country
  );
}
