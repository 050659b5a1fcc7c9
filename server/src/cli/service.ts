import { describeConfig, type Role, readConfig } from '../config.ts';
import { listEnvironments } from '../environment/databases.ts';
import { runCellsDoctor } from './cells/doctor.ts';
import { type Command, defineHostCommand } from './command.ts';
import { runDoctor } from './doctor/doctor.ts';
import { cellFiles, environmentName, flag } from './options.ts';

/** The service itself, and the commands about its installation. */

function defineRole(name: Role, about: string): Command {
  return defineHostCommand({
    name,
    about,
    options: { recover: flag('begin a recovery before anything is sent') },
    run: (host, { recover }) => host.serve(name, { recovers: recover }),
  });
}

export const serviceCommands = [
  defineRole('all', 'serve requests and do background work (npm start)'),
  defineRole('serve', 'serve requests only'),
  defineRole('work', 'do background work only'),
  defineHostCommand({
    name: 'migrate',
    about: 'migrate the databases of all configured environments',
    options: { environment: environmentName.optional() },
    run: async ({ variables, openContext }, { environment }) => {
      const all = listEnvironments(readConfig(variables));
      for (const name of environment === undefined ? all : [environment]) {
        const context = await openContext(name);
        await context[Symbol.asyncDispose]();
      }
      return 'The databases are up to date.';
    },
  }),
  defineHostCommand({
    name: 'doctor',
    about: 'find problems of this installation and say how to fix them; exit code 1 with any',
    options: {
      environment: environmentName.optional(),
      cells: cellFiles.optional(),
    },
    run: ({ variables, realNowMs }, { environment, cells }) => {
      if (cells !== undefined) return runCellsDoctor(cells, { realNowMs });
      const selected = environment !== undefined && {
        OUTLAY_ENVIRONMENTS: environment,
        OUTLAY_DEFAULT_ENVIRONMENT: environment,
      };
      return runDoctor({ ...variables, ...selected }, { realNowMs, uid: process.getuid?.() });
    },
  }),
  defineHostCommand({
    name: 'env-example',
    about: 'print all settings with their defaults (.env.example)',
    options: {},
    run: () => describeConfig().trimEnd(),
  }),
];
