import { createClient } from '../../../sdk/src/index.ts';
import { defineCommand } from '../command.ts';
import { chooseProfile } from '../profiles.ts';

export const mcpCommands = [
  defineCommand({
    name: 'mcp',
    about: 'serve tools to a model over stdio (Model Context Protocol); it proposes, a person pays',
    options: {
      confirmProfile: {
        value: 'name',
        about: 'a profile that gets links for the person, where the client can show them',
      },
    },
    examples: ['mcp --profile agent', 'mcp --profile agent --confirm-profile approver'],
    next: 'proposal list',
    run: async ({ connect, terminal, output, signal }, { confirmProfile }) => {
      const client = connect();
      // The variables of the tools' credential would go before this profile's.
      const { OUTLAY_URL: _url, OUTLAY_KEY: _key, ...environment } = terminal.environment;
      const linkClient =
        confirmProfile === undefined
          ? undefined
          : createClient(chooseProfile(environment, confirmProfile));
      // Loaded here, because no other command needs it.
      const { serveMcp } = await import('../mcp/serve.ts');
      await serveMcp({ client, linkClient, note: output.note, signal });
    },
  }),
];
