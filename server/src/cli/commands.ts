import type { Command } from './command.ts';
import { loadCommands } from './command-groups.ts';

/** All commands of operators, for the service, which has them loaded anyway. */
export const commands: readonly Command[] = await loadCommands();
