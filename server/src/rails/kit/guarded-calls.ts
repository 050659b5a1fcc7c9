import type { CallContext, Instruction, RailAnswer, RailHost } from '../contract/contract.ts';

type Call<Arguments extends readonly unknown[]> = (...given: Arguments) => Promise<RailAnswer>;

/**
 * A call of a rail (`send`, `query`, `cancel`) that never throws: a failure on our own side, such as of
 * the database, leaves the outcome unknown. The log has the reference and the error's name only, since
 * its message can be personal.
 */
export function guardCall<Setup extends { readonly host: Pick<RailHost, 'log'> }>(
  setup: Setup,
  call: Call<[setup: Setup, instruction: Instruction, context: CallContext]>,
): Call<[instruction: Instruction, context: CallContext]> {
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
