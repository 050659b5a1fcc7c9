import type {
  CallContext,
  Instruction,
  RailAnswer,
  RailCalls,
  RailHost,
} from '../contract/contract.ts';

/** A call of a rail (`send`, `query`, `cancel`), or a step of one, on the rail's own parts. */
export type RailCall<Parts> = (
  parts: Parts,
  instruction: Instruction,
  context: CallContext,
) => Promise<RailAnswer>;

/**
 * A call of a rail that never throws: a failure on our own side, such as of
 * the database, leaves the outcome unknown. The log has the reference and the error's name only, since
 * its message can be personal.
 */
export function guardCall<Setup extends { readonly host: Pick<RailHost, 'log'> }>(
  setup: Setup,
  call: RailCall<Setup>,
): RailCalls['query'] {
  return async (instruction, context) => {
    try {
      return await call(setup, instruction, context);
    } catch (error) {
      setup.host.log('error', 'a call of the rail failed', {
        reference: instruction.reference,
        error: error instanceof Error ? error.name : 'unknown',
      });
      return { outcome: 'unknown', reason: 'other' };
    }
  };
}
