import { createInterface, emitKeypressEvents } from 'node:readline';
import type * as Prompts from '@clack/prompts';
import { exitCodes, Failure } from './failure.ts';
import type { Output, Terminal } from './output.ts';
import { printable } from './table.ts';

/** Questions to a person. Only for commands that run in a terminal. */

export type Choice<Value> = { value: Value; label: string; hint?: string };

export type TextQuestion = {
  message: string;
  /** How the answer should look. */
  example?: string;
  isOptional?: boolean;
  /** Returns what is wrong with an answer. */
  check?(answer: string): string | undefined;
};

export type Questions = {
  text(question: TextQuestion): Promise<string>;
  secret(message: string): Promise<string>;
  select<Value>(message: string, choices: readonly Choice<Value>[]): Promise<Value>;
  /** Counts down to `untilMs`, which ends the question with `expired`. */
  confirm(message: string, untilMs?: number): Promise<'yes' | 'no' | 'expired'>;
};

type Parts = { terminal: Terminal; output: Output; nowMs: () => number };

export function createQuestions(parts: Parts): Questions {
  // Loaded when something is asked, because most commands ask nothing.
  const load = async (): Promise<typeof Prompts> => import('@clack/prompts');
  return {
    text: async ({ message, example, isOptional = false, check = () => undefined }) => {
      const { text } = await load();
      const answer = await text({
        message: printable(message),
        ...(example === undefined ? {} : { placeholder: printable(example) }),
        // Undefined where nothing was typed, whatever the library's types say.
        validate: (given: string | undefined) => {
          const typed = given?.trim() ?? '';
          if (typed === '') return isOptional ? undefined : 'Needed';
          return check(typed);
        },
      });
      return readAnswer<string | undefined>(answer)?.trim() ?? '';
    },
    secret: async (message) => {
      const { password } = await load();
      const validate = (given: string | undefined): string | undefined =>
        given ? undefined : 'Needed';
      return readAnswer<string>(await password({ message, validate }));
    },
    select: async <Value>(message: string, choices: readonly Choice<Value>[]) => {
      const { select } = await load();
      // By their index, because values may be objects.
      const options = choices.map(({ label, hint }, value) => ({
        value,
        label: printable(label),
        ...(hint === undefined ? {} : { hint: printable(hint) }),
      }));
      const index = readAnswer<number>(
        await select({ message: printable(message), options, maxItems: 12 }),
      );
      const chosen = choices[index];
      if (chosen === undefined) throw new Error('impossible: another choice than offered');
      return chosen.value;
    },
    confirm: (message, untilMs) => confirm(parts, message, untilMs),
  };
}

/** @throws Failure where the person left with Ctrl-C or Escape. */
function readAnswer<Answer>(answer: unknown): Answer {
  if (typeof answer !== 'symbol') return answer as Answer;
  throw interrupted();
}

function interrupted(): Failure {
  return new Failure('Stopped. Nothing was paid.', {
    exitCode: exitCodes.interrupted,
    code: 'interrupted',
  });
}

/** Redraws its line every second; the libraries' prompts stand still. */
function confirm(
  { terminal: { input, out }, output: { colors }, nowMs }: Parts,
  message: string,
  untilMs = Number.POSITIVE_INFINITY,
): Promise<'yes' | 'no' | 'expired'> {
  const lines = createInterface({ input, escapeCodeTimeout: 50 });
  emitKeypressEvents(input, lines);
  input.setRawMode(true);
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      clearInterval(timer);
      input.off('keypress', read);
      input.setRawMode(false);
      lines.close();
      out.write('\n');
      settle();
    };
    const draw = (): void => {
      const seconds = Math.ceil((untilMs - nowMs()) / 1000);
      if (seconds <= 0) return end(() => resolve('expired'));
      const left = Number.isFinite(seconds) ? colors.dim(` ${formatClock(seconds)} left`) : '';
      out.write(`\r\u001b[2K${message}${left} [y/N] `);
    };
    const read = (_text: string, key: { name?: string; ctrl?: boolean }): void => {
      if (key.ctrl === true && key.name === 'c') return end(() => reject(interrupted()));
      if (key.name === 'y') return end(() => resolve('yes'));
      if (key.name === 'n' || key.name === 'return' || key.name === 'escape') {
        end(() => resolve('no'));
      }
    };
    const timer = setInterval(draw, 1000);
    input.on('keypress', read);
    draw();
  });
}

function formatClock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
