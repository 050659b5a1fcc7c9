import type { Command } from 'commander';

/**
 * The words that can stand where the last of these stands: commands, or the options of the command
 * that the words before it name.
 */
export function suggestWords(program: Command, words: readonly string[]): string[] {
  const last = words.at(-1) ?? '';
  let command = program;
  for (const word of words.slice(0, -1)) {
    command = command.commands.find((one) => one.name() === word) ?? command;
  }
  const flags = [...command.options, ...program.options].map(({ long }) => long ?? '');
  const known = last.startsWith('-') ? flags : command.commands.map((one) => one.name());
  return known.filter((word) => word.startsWith(last));
}
