import { listMasterKeys, removeOldKeys, rotateMasterKey } from '../environment/key-rotation.ts';
import { defineCommand } from './command.ts';

export const keyCommands = [
  defineCommand({
    name: 'key list',
    permission: 'read',
    about: 'list the master keys, and how many keys of users and of the environment each one wraps',
    options: {},
    run: listMasterKeys,
  }),
  defineCommand({
    name: 'key rotate',
    permission: 'administer',
    about: 'replace the master key while the service runs; repeat it if it was interrupted',
    options: {},
    run: (context) => rotateMasterKey(context),
  }),
  defineCommand({
    name: 'key remove-old',
    permission: 'administer',
    about: 'remove the older master keys from the key file once nothing needs them',
    options: {},
    run: removeOldKeys,
  }),
];
