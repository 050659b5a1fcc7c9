import { atMinute } from './stable-values.ts';

/** What a step of the flow through the interface is, and how steps read answers. */

export type ExampleRequest = {
  params?: Record<string, string>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: unknown;
  form?: Record<string, string>;
};

/** What later steps take from earlier answers. */
export type Known = { [name: string]: string };

export type Step = {
  operationId: string;
  summary: string;
  request: (known: Known) => ExampleRequest;
  /** 200 unless it says otherwise. */
  status?: number;
  /** The request contradicts the description on purpose: a validating proxy would refuse it. */
  isWrong?: boolean;
  /** It is sent again until the service has done what it does by itself. */
  isSettled?: (answer: { status: number; text: string }) => boolean;
  /** What it sends in Authorization: the access token unless it says otherwise. */
  credential?: 'none' | 'first' | 'reduced' | 'reviewer' | 'operator' | 'second_operator';
  /** An array of the answer is shown with this many items at most. */
  itemsMax?: number;
  /** Only prepares what follows, or answers something that is no example. */
  isHidden?: boolean;
  keep?: (body: unknown) => Known;
};

/** Moves the sandbox's clock on to a minute, so that the times of the steps after it are known. */
export const waitUntilMinute = (minute: number): Step => ({
  operationId: 'moveSandboxClock',
  summary: 'To a known time',
  credential: 'first',
  isHidden: true,
  request: () => ({ body: { to: atMinute(minute) } }),
});

/** The path parameters of a user. */
export const userOf = (known: Known) => ({ user_token: known['user_token'] ?? '' });
/** The path parameters of a payout, by what it was kept as. */
export const payoutOf = (known: Known, name: string) => ({
  ...userOf(known),
  payout_token: known[name] ?? '',
});

/** Reads a text out of an answer. @throws Error when it is not there. */
export function readText(body: unknown, ...path: (string | number)[]): string {
  let at = body;
  for (const key of path) at = (at as Record<string | number, unknown> | undefined)?.[key];
  if (typeof at !== 'string') throw new Error(`the answer has no text at ${path.join('.')}`);
  return at;
}

/** The token of the first attribute of this type. */
export function readAttribute(
  body: unknown,
  type: string,
  member: 'token' | 'value' = 'token',
): string {
  const attributes = body as { type: string; token: string }[];
  return readText(
    attributes.find((attribute) => attribute.type === type),
    member,
  );
}
