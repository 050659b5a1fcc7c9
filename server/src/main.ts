import { runOperator } from './operator.ts';

/** Runs the command that the arguments name; `all`, the service, where they name none. */

/** `npm start -- --recover` names no command either. */
function readArguments([first, ...others]: readonly string[]): readonly string[] {
  if (first === undefined) return ['all'];
  return first === '--recover' ? ['all', first, ...others] : [first, ...others];
}

await runOperator(readArguments(process.argv.slice(2)));
