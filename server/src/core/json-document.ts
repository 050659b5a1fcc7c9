import type { z } from 'zod';

/** A JSON document that an operator has written: it has every fault, each with its place. */
export class DocumentFaults extends Error {
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(faults.join('; '));
    this.faults = faults;
  }
}

/**
 * @param subject such as `the policy`
 * @throws DocumentFaults
 */
export function parseDocument<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  subject: string,
): z.output<Schema> {
  let written: unknown;
  try {
    written = JSON.parse(text);
  } catch {
    throw new DocumentFaults([`${subject} must be JSON`]);
  }
  const parsed = schema.safeParse(written);
  if (parsed.success) return parsed.data;
  throw new DocumentFaults(listFaults(parsed.error));
}

/** Such as `rules.0.name: must not be empty`. */
export function listFaults(error: z.ZodError): string[] {
  return error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`,
  );
}
