import { createRequire } from 'node:module';
import { AppError } from '../core/errors.ts';

/**
 * Whether the native engine that typesets PDFs is there for this kind of machine. It comes from npm as
 * an optional package for each kind; where the registry has none, the service works without PDFs.
 */

const engine = '@myriaddreamin/typst-ts-node-compiler';
/** Of the C library or the calling convention, which a kind of machine may have several of. */
const suffixes = ['', '-gnu', '-musl', '-msvc', '-gnueabihf', '-eabi'] as const;

export type MachineKind = { readonly platform: string; readonly arch: string };

/** Found by name only: loading native code is for the process that typesets. */
export function isEngineInstalled({ platform, arch }: MachineKind = process): boolean {
  const here = createRequire(import.meta.url);
  let beside: NodeJS.Require;
  try {
    beside = createRequire(here.resolve(engine));
  } catch {
    return false;
  }
  return suffixes.some((suffix) => {
    try {
      beside.resolve(`${engine}-${platform}-${arch}${suffix}`);
      return true;
    } catch {
      return false;
    }
  });
}

export const describeMissingEngine = ({ platform, arch }: MachineKind = process): string =>
  `no PDF engine (Typst) is installed for ${platform} on ${arch}: npm has it for Linux on x64, as in ` +
  'the container image';

let isKnown = false;

/** @throws AppError not_acceptable: the same data can be had as JSON. */
export function requireEngine(machine: MachineKind = process): void {
  if (machine === process && isKnown) return;
  if (isEngineInstalled(machine)) {
    isKnown ||= machine === process;
    return;
  }
  const detail = `application/pdf cannot be made here: ${describeMissingEngine(machine)}. Other forms work.`;
  throw new AppError('not_acceptable', detail);
}
