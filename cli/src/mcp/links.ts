import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Client } from '../../../sdk/src/index.ts';
import type { Session } from './tool.ts';

/**
 * Shows the link of a proposal to a person by elicitation in URL mode: the client opens it, and the
 * model sees neither the link nor what the page shows. No text of this module with the link in it
 * reaches a tool's result, an error or the log.
 */

/** Shorter than the minute after which clients give up on a tool. */
const answerMsMax = 50_000;

export function createLinkOffers(
  server: Server,
  { linkClient, note }: { linkClient: Client | undefined; note: (text: string) => void },
): Pick<Session, 'offerLink' | 'closeLink'> {
  const shown = new Map<string, () => Promise<void>>();
  return {
    offerLink: async ({ proposal_token: elicitationId, about }) => {
      const canShow = server.getClientCapabilities()?.elicitation?.url !== undefined;
      if (linkClient === undefined || !canShow) return 'command';
      try {
        const link = await linkClient.createConfirmationLink({ proposal_token: elicitationId });
        const message = `${about}: confirm or decline it on this page.`;
        const { action } = await server.elicitInput(
          { mode: 'url', elicitationId, url: link.url, message },
          { timeout: answerMsMax },
        );
        if (action !== 'accept') return 'refused';
      } catch (error) {
        note(`The link of ${elicitationId} could not be shown (${(error as Error).name}).`);
        return 'command';
      }
      shown.set(elicitationId, server.createElicitationCompletionNotifier(elicitationId));
      return 'shown';
    },
    closeLink: async (proposalToken) => {
      const notify = shown.get(proposalToken);
      shown.delete(proposalToken);
      await notify?.();
    },
  };
}
