import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';

/** Where and with what a run was made. */
export function describeMachine(): string {
  const [cpu] = cpus();
  const memory = `${Math.round(totalmem() / 1024 ** 3)} GiB`;
  return `${cpus().length} x ${cpu?.model.trim()}, ${memory}, Node ${process.versions.node}, commit ${findCommit()}`;
}

function findCommit(): string {
  const git = (...words: string[]): string =>
    execFileSync('git', words, { encoding: 'utf8', cwd: import.meta.dirname }).trim();
  try {
    const isChanged = git('status', '--porcelain', '--', '../server') !== '';
    return git('rev-parse', '--short', 'HEAD') + (isChanged ? ' and later changes' : '');
  } catch {
    // Not every copy of the source is a repository.
    return 'unknown';
  }
}
