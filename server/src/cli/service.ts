import { describeConfig, type Role, readConfig } from '../config.ts';
import { listEnvironments } from '../environment/databases.ts';
import { type Command, defineHostCommand, Screen } from './command.ts';
import { reportFindings } from './doctor/finding.ts';
import { cellFiles, environmentName, flag } from './options.ts';

/** The service itself, and the commands about its installation. */

function defineRole(name: Role, about: string): Command {
  return defineHostCommand({
    name,
    about,
    options: { recover: flag('begin a recovery before anything is sent') },
    run: async (host, { recover }) => {
      await host.serve(name, { recovers: recover });
      return undefined;
    },
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
      const environments = environment === undefined ? all : [environment];
      for (const name of environments) {
        const context = await openContext(name);
        await context[Symbol.asyncDispose]();
      }
      return { result: 'up_to_date', environments };
    },
  }),
  defineHostCommand({
    name: 'doctor',
    about: 'find problems of this installation and say how to fix them; exit code 1 with any',
    options: {
      environment: environmentName.optional(),
      cells: cellFiles.optional(),
    },
    run: async ({ variables, realNowMs }, { environment, cells }) => {
      if (cells !== undefined) {
        const { examineCells } = await import('./cells/doctor.ts');
        return reportFindings(await examineCells(cells, { realNowMs }));
      }
      const selected = environment !== undefined && {
        OUTLAY_ENVIRONMENTS: environment,
        OUTLAY_DEFAULT_ENVIRONMENT: environment,
      };
      const { examine } = await import('./doctor/doctor.ts');
      const options = { realNowMs, uid: process.getuid?.() };
      return reportFindings(await examine({ ...variables, ...selected }, options));
    },
  }),
  defineHostCommand({
    name: 'env-example',
    about: 'print all settings, with defaults or examples (.env.example)',
    options: {},
    run: () => new Screen({ settings: describeConfig() }, () => describeConfig().trimEnd()),
  }),
];
