import { randomBytes } from 'node:crypto';
import { parseArgs } from 'node:util';

export type TrialOptions = {
  /** How often a process of the service is killed. */
  readonly kills: number;
  /** Over how much time the kills are spread, at least. */
  readonly seconds: number;
  /** The rails that take part; undefined: all. */
  readonly only: readonly string[] | undefined;
  readonly seed: number;
};

/** How the name of a trial's temporary folder begins. */
export const folderPrefix = 'outlay-trial-';

const secondsPerKill = 2;

/** @throws Error with what is wrong on the command line. */
export function readOptions(args: readonly string[]): TrialOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: 'string', default: '300' },
      seconds: { type: 'string' },
      only: { type: 'string' },
      seed: { type: 'string' },
    },
  });
  const kills = readWhole('kills', values.kills);
  const seconds = values.seconds ?? String(kills * secondsPerKill);
  return {
    kills,
    seconds: readWhole('seconds', seconds),
    only: values.only?.split(',').map((name) => name.trim()),
    seed:
      values.seed === undefined ? randomBytes(4).readUInt32LE() : readWhole('seed', values.seed),
  };
}

function readWhole(name: string, text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new Error(`--${name} ${text} is not a whole number`);
}
