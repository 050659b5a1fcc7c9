/** Smallest units as decimal text in whole units. */
export function formatUnits(units: bigint, decimals: number): string {
  const digits = units.toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  const whole = digits.slice(0, digits.length - decimals);
  return decimals === 0 || fraction === '' ? whole : `${whole}.${fraction}`;
}
