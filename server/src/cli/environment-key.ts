import {
  destroyOldEnvironmentKeys,
  listEnvironmentKeys,
  rotateEnvironmentKeys,
} from '../environment/environment-key-rotation.ts';
import { rotateIndexKey } from '../environment/index-key-rotation.ts';
import { defineCommand } from './command.ts';
import { flag } from './options.ts';

export const environmentKeyCommands = [
  defineCommand({
    name: 'environment-key list',
    permission: 'read',
    // It counts rows of tables that reports must not see.
    isStoring: true,
    about: 'list the generations of the environment’s keys, and how many rows each one protects',
    options: {},
    run: listEnvironmentKeys,
  }),
  defineCommand({
    name: 'environment-key rotate',
    permission: 'administer',
    about:
      'replace the keys that seal, authenticate and sign while the service runs, in a minute or more; repeat it if it was interrupted; exit code 1 if rows do not verify',
    options: {},
    resultNames: ['generation', 'signing_key', 'rejected_count', 'rejected'],
    run: async (context) => {
      const report = await rotateEnvironmentKeys(context);
      if (report.rejected_count > 0) process.exitCode = 1;
      return report;
    },
  }),
  defineCommand({
    name: 'environment-key rotate-index',
    permission: 'administer',
    about:
      'replace the key of the hashes that find recipients and metadata; refuses unless every other process on the database is stopped, and changes all or nothing',
    options: {},
    replacesIndexKey: true,
    resultNames: ['index_generation', 'renewed', 'ended'],
    run: (context) => rotateIndexKey(context),
  }),
  defineCommand({
    name: 'environment-key destroy-old',
    permission: 'administer',
    about: 'destroy all generations but the newest once nothing needs them; cannot be undone',
    options: {
      endLinks: flag('although links that were given out before the rotation end'),
      leaveRejected: flag('although rows are left that do not verify'),
      renewLate: flag('protect rows anew that were written under the old keys after the rotation'),
    },
    resultNames: ['destroyed', 'renewed', 'rejected_count', 'rejected'],
    run: (context, { endLinks, leaveRejected, renewLate }) =>
      destroyOldEnvironmentKeys(context, {
        endsLinks: endLinks,
        leavesRejected: leaveRejected,
        renewsLate: renewLate,
      }),
  }),
];
