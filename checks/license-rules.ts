import satisfies from 'spdx-satisfies';

/** Which licenses packages may have. A new one is a decision: read it, then add it here. */

export type LockEntry = {
  readonly license?: string;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly link?: boolean;
};

/** Permissive, and compatible with Apache-2.0. */
const approved = [
  'MIT',
  'MIT-0',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'Unlicense',
  'Zlib',
  'Python-2.0',
  'PSF-2.0',
];

type Exception = { readonly name: RegExp; readonly licenses: readonly string[] };

/** Licenses that are fine for what these packages are, and not for others. */
const exceptions: readonly Exception[] = [
  // Fonts are embedded in documents, which the license permits.
  { name: /^@(expo-google-fonts|fontsource|fontsource-variable)\//, licenses: ['OFL-1.1'] },
  // libvips, a library of its own beside the program, which anyone may replace.
  { name: /^@img\/sharp-/, licenses: ['LGPL-3.0-or-later'] },
  // Tools that build and check the console. Nothing of them is in what is built or served.
  { name: /^(axe-core|lightningcss(-.+)?)$/, licenses: ['MPL-2.0'] },
  // Data, whose license asks to name the source: docs/guides/supply-chain.md does.
  { name: /^(date-holidays|spdx-exceptions|spdx-ranges)$/, licenses: ['CC-BY-3.0'] },
];

/**
 * What the license file of a package says, or an old form in its package.json, where that says nothing
 * that SPDX knows.
 */
export const readLicenses: Readonly<Record<string, string>> = {
  ssh2: 'MIT',
  'cpu-features': 'MIT',
  buildcheck: 'MIT',
  'compute-gcd': 'MIT',
  'compute-lcm': 'MIT',
  memorystream: 'MIT',
  reserved: 'MIT',
  'validate.io-function': 'MIT',
  'validate.io-integer': 'MIT',
  'validate.io-integer-array': 'MIT',
  'validate.io-number': 'MIT',
  ibantools: 'MIT OR MPL-2.0',
  nub: 'MIT',
  // In its README.
  ivms101: 'MIT',
};

/** A sentence for each package of a lockfile whose license is not approved. */
export function findLicenseFaults(packages: Readonly<Record<string, LockEntry>>): string[] {
  return Object.entries(packages).flatMap(([place, { license, link }]) => {
    const name = place.split('node_modules/').at(-1) ?? '';
    // Ours have no such folder in their path, and links lead to them.
    if (!place.includes('node_modules/') || link === true) return [];
    const expression = readLicenses[name] ?? license;
    if (expression === undefined) return [`${name} states no license`];
    const more = exceptions.flatMap((one) => (one.name.test(name) ? one.licenses : []));
    return isApproved(expression, [...approved, ...more]) ? [] : [`${name} has ${expression}`];
  });
}

function isApproved(expression: string, licenses: readonly string[]): boolean {
  try {
    return satisfies(expression, licenses);
  } catch {
    // Not an SPDX expression.
    return false;
  }
}
