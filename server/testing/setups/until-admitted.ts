import { AppError } from '../../src/core/errors.ts';

const triesMax = 20;

/** Tries again, as a client does, while too many requests of the account wait: each waits two seconds. */
export async function untilAdmitted<Result>(request: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await request();
    } catch (error) {
      const isBusy = error instanceof AppError && error.code === 'unavailable';
      if (!isBusy || tries === triesMax) throw error;
    }
  }
}
