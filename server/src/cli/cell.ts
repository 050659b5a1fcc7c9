import { z } from 'zod';
import { describeCell } from './cells/describe.ts';
import { saltPattern } from './cells/description.ts';
import { defineCommand } from './command.ts';
import { option } from './options.ts';

export const cellCommands = [
  defineCommand({
    name: 'cell describe',
    permission: 'read',
    about: 'describe this cell for outlay doctor --cells, without secrets',
    options: {
      salt: option(
        {
          value: 'hex',
          about: 'the same for all cells that are compared: openssl rand -hex 32',
        },
        z.string().regex(saltPattern, 'must be 64 hexadecimal digits: openssl rand -hex 32'),
      ),
    },
    run: (context, { salt }) => describeCell(context, salt),
  }),
];
