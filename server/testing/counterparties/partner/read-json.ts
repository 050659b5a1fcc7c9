import { parseExactBytes } from '../../../src/core/exact-json.ts';

/** Undefined where the body is not JSON. */
export function readJson(body: Buffer): unknown {
  try {
    return parseExactBytes(body);
  } catch {
    return undefined;
  }
}
