import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TypesetJob, WorkerAnswer, WorkerRequest } from './worker.ts';

/** Why there is no receipt: too many wait, the time limit passed, or the typesetter failed. */
export class ReceiptError extends Error {
  readonly reason: 'busy' | 'timeout' | 'failed' | 'closed';

  constructor(reason: ReceiptError['reason'], message: string) {
    super(message);
    this.name = 'ReceiptError';
    this.reason = reason;
  }
}

export type ReceiptRendererOptions = {
  /** How many may wait while one is typeset; more are rejected. */
  waitingMax: number;
  /** The time limit of one receipt, including the start of the child process. */
  renderMs: number;
  /** How long an idle child process is kept. */
  idleMs: number;
  /** A child with more memory is ended after its answer. */
  childBytesMax: number;
  /** The child's program; tests replace it. */
  workerPath?: string;
};

type Job = {
  job: TypesetJob;
  resolve: (pdf: Uint8Array) => void;
  reject: (error: Error) => void;
};

const defaultWorkerPath = fileURLToPath(new URL('./worker.ts', import.meta.url));

/**
 * Typesets receipts one after another in a child process that starts on first use and ends when idle:
 * the engine and its fonts take 120 MB and more, and a crash of native code ends one receipt instead
 * of the service.
 */
export class ReceiptRenderer {
  readonly #options: ReceiptRendererOptions;
  readonly #waiting: Job[] = [];
  #current: { id: number; job: Job; limit: NodeJS.Timeout } | undefined;
  #child: ChildProcess | undefined;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;
  #isClosed = false;

  constructor(options: ReceiptRendererOptions) {
    this.#options = options;
  }

  /** @returns The bytes of the PDF. @throws ReceiptError */
  render(job: TypesetJob): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) {
        reject(new ReceiptError('closed', 'the service is stopping'));
      } else if (this.#waiting.length >= this.#options.waitingMax) {
        reject(new ReceiptError('busy', `${this.#waiting.length} receipts are already waiting`));
      } else {
        this.#waiting.push({ job, resolve, reject });
        this.#startNext();
      }
    });
  }

  /** Rejects waiting receipts and ends the child process. Idempotent. */
  close(): void {
    this.#isClosed = true;
    const error = new ReceiptError('closed', 'the service is stopping');
    for (const job of this.#waiting.splice(0)) job.reject(error);
    this.#dropChild(error);
  }

  /** The child's process id, for tests and diagnosis. */
  get childPid(): number | undefined {
    return this.#child?.pid;
  }

  #startNext(): void {
    if (this.#current !== undefined || this.#isClosed) return;
    const job = this.#waiting.shift();
    if (job === undefined) return;
    clearTimeout(this.#idle);
    const id = ++this.#lastId;
    const limit = setTimeout(() => {
      this.#dropChild(
        new ReceiptError('timeout', `a receipt took longer than ${this.#options.renderMs} ms`),
      );
    }, this.#options.renderMs);
    this.#current = { id, job, limit };
    const child = this.#ensureChild();
    child.ref();
    child.channel?.ref();
    const request: WorkerRequest = { id, job: job.job };
    child.send(request, (error) => {
      if (error !== null && this.#current?.id === id) {
        this.#dropChild(new ReceiptError('failed', `the typesetter has ended: ${error.message}`));
      }
    });
  }

  #ensureChild(): ChildProcess {
    if (this.#child !== undefined) return this.#child;
    // The typesetter gets none of the service's settings, such as the database's address or keys.
    const child = fork(this.#options.workerPath ?? defaultWorkerPath, [], {
      env: { OUTLAY_RECEIPT_WORKER: '1' },
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.on('message', (answer: WorkerAnswer) => this.#settle(child, answer));
    child.on('error', (error) => this.#childEnded(child, error.message));
    child.on('exit', (code, signal) => this.#childEnded(child, `exit ${code ?? signal}`));
    this.#child = child;
    return child;
  }

  #settle(child: ChildProcess, answer: WorkerAnswer): void {
    const current = this.#current;
    if (child !== this.#child || current === undefined || answer.id !== current.id) return;
    this.#current = undefined;
    clearTimeout(current.limit);
    if ('pdf' in answer) current.job.resolve(answer.pdf);
    else current.job.reject(new ReceiptError('failed', answer.error));
    if ('pdf' in answer && answer.memoryBytes > this.#options.childBytesMax) {
      this.#dropChild(undefined);
      return;
    }
    this.#startNext();
    if (this.#current === undefined) this.#rest(child);
  }

  /** An idle child must not keep the process alive, and is ended after a while. */
  #rest(child: ChildProcess): void {
    child.unref();
    child.channel?.unref();
    this.#idle = setTimeout(() => this.#dropChild(undefined), this.#options.idleMs).unref();
  }

  #childEnded(child: ChildProcess, how: string): void {
    if (child !== this.#child) return;
    this.#dropChild(new ReceiptError('failed', `the typesetter ended unexpectedly: ${how}`));
  }

  /** Kills the child; its receipt is rejected, and the next one gets a new child. */
  #dropChild(error: ReceiptError | undefined): void {
    clearTimeout(this.#idle);
    const child = this.#child;
    this.#child = undefined;
    child?.kill('SIGKILL');
    const current = this.#current;
    this.#current = undefined;
    if (current !== undefined) {
      clearTimeout(current.limit);
      current.job.reject(error ?? new ReceiptError('failed', 'the typesetter was ended'));
    }
    this.#startNext();
  }
}
