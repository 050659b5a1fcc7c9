import { settings } from './config.ts';
import { findNearest } from './core/nearest-word.ts';

/** Variables of scripts and tests. */
const otherNames: readonly string[] = ['OUTLAY_SHARED_DATA'];

/**
 * Lists variables that look like settings but are not, each with the setting that is probably meant.
 * `others` are variables that the operator's files name, such as those of secrets.
 */
export function findUnknownSettings(
  variables: Readonly<Record<string, string | undefined>>,
  others: ReadonlySet<string> = new Set(),
): string[] {
  const known = Object.keys(settings);
  return Object.keys(variables)
    .filter((name) => name.startsWith('OUTLAY_') && !known.includes(name))
    .filter((name) => !otherNames.includes(name) && !others.has(name))
    .toSorted()
    .map((name) => {
      // Settings that other programs have too have no prefix: PORT, DATABASE_URL.
      const nearest = known.find((one) => name === `OUTLAY_${one}`) ?? findNearest(name, known);
      const meant =
        nearest === undefined ? '.env.example lists all settings' : `did you mean ${nearest}?`;
      return `${name} is not a setting: ${meant}`;
    });
}
