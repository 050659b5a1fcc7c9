import type { z } from 'zod';
import type { EnvironmentName, Principal, Scope } from '../core/access.ts';
import type { Clock } from '../core/clock.ts';
import type { Fault } from '../core/errors.ts';
import type { ExactJson, JsonNumber } from '../core/exact-json.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { KeyedAnswer } from '../db/keyed-batcher.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import type { Answer } from './problem.ts';
import type { UploadKind, UploadOwner } from './upload-slots.ts';

/** How a module says what it serves. `server.ts` runs it, `openapi.ts` describes it. */

/** What every environment has. A module's routes ask for more by their own type of services. */
export type BaseServices = {
  readonly name: EnvironmentName;
  readonly db: Database;
  readonly keys: KeyRing;
  readonly clock: Clock;
};

export type RequestView = {
  readonly method: string;
  readonly path: string;
  /** The path of this request with other query parameters: for links to the next page. */
  readonly url: string;
  readonly query: Readonly<Record<string, string | string[] | undefined>>;
  readonly accept: string;
  readonly authorization: string;
  readonly remoteAddress: string;
  readonly baseUrl: string;
};

export type WriteOptions = {
  isOneEffect?: boolean;
  isAcrossAccounts?: boolean;
  /** The id of the user of whom the answer tells something: it is stored under that user's key. */
  aboutUser?: string;
  /**
   * Does the whole effect in a transaction that many requests share, key and stored answer
   * included; undefined leaves it to `work`, and so does a refusal where there is a key.
   */
  tryTogether?: (answering: Answering) => Promise<Together | undefined>;
};

/** How a request is answered that shares its transaction with others. */
export type Answering = {
  readonly requestKey: RequestKey | undefined;
  /**
   * `valueOf` makes the value for the response schema of what the transaction gave; `userOf` names
   * the user of whom it tells something.
   */
  prepare<Result>(
    valueOf: (result: Result) => unknown,
    userOf: (result: Result) => AnswerUser,
  ): PreparedAnswer<Result>;
};

/** `dataKey` as it is stored. */
export type AnswerUser = { readonly userId: string; readonly dataKey: Buffer };

export type PreparedAnswer<Result> = {
  /** What is stored with the effect, where the client sent a key. */
  readonly keyed: KeyedAnswer<Result> | undefined;
  tell(result: Result): Together;
};

/** An answer's text as it was stored, or a value for the response schema. */
export type Together = { text: string | null } | { value: unknown };

/** The key that a client sent with its request, and what the request was. */
export type RequestKey = { key: string; fingerprint: Buffer };

export type RouteContext<S extends BaseServices> = {
  readonly env: S;
  readonly principal: Principal;
  readonly accountId: string;
  readonly request: RequestView;
  /** Of a route with `streams`; the one with which this request came. */
  readonly upload: Upload | undefined;
  /**
   * Runs the effect of a request in one transaction, together with its idempotency record when the
   * client sent a key; a repeated key answers what the first one did. Everything the client is to
   * be told is in what `work` returns. Without a key, `isOneEffect` spares begin and commit where a
   * single statement of `work` changes anything. `isAcrossAccounts` gives `work` the owner's view:
   * for the sandbox alone, where a client makes other accounts and moves everybody's clock.
   */
  write(work: (session: Session) => Promise<unknown>, options?: WriteOptions): Promise<Answer>;
};

/** A body that the handler reads itself, as it arrives. */
export type Upload = {
  /** Without its parameters, in lower case. */
  readonly mediaType: string;
  readonly bytes: AsyncIterable<Buffer>;
  /** The record of the Idempotency-Key, where the client sent one. */
  readonly record: KeyRecord | undefined;
};

/**
 * The record of a key whose request is more than one transaction: it is claimed when the request
 * begins, and answered in the transaction that ends it.
 */
export type KeyRecord = {
  readonly key: string;
  /**
   * Takes the key for this request; an earlier try of the same request may have taken it already.
   *
   * @throws AppError idempotency_key_reused where another request has it.
   */
  claim(session: Session): Promise<void>;
  /** Stores the answer of a claimed key; a later one does not replace it. */
  answer(session: Session, text: string): Promise<void>;
  /** The stored answer, undefined where there is none. */
  findAnswer(session: Session): Promise<string | undefined>;
};

export type Input<P, Q, B> = { readonly params: P; readonly query: Q; readonly body: B };

type Path = `/${string}`;

export type RouteSpec<S extends BaseServices, P, Q, B> = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  /** With `{name}` for path parameters. */
  readonly path: Path;
  /** Whether it lives under `/{version}`. */
  readonly isVersioned: boolean;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** A scope, `bearer` for any valid credential, or none for a public route. */
  readonly access: Scope | 'bearer' | 'public';
  /**
   * For a public upload, before its body is read: whose upload it is.
   *
   * @throws AppError where the path proves nothing, or takes no upload now.
   */
  readonly admit?: (env: S, params: unknown) => Promise<UploadOwner>;
  /** Only served where the environment is staging. */
  readonly isSandbox?: boolean;
  readonly params?: z.ZodType<P>;
  readonly query?: z.ZodType<Q>;
  /** Whether the list can be filtered by `metadata[key]=value`. */
  readonly searchesMetadata?: true;
  /**
   * A GET refuses query parameters that `query` does not name: an ignored filter answers more than
   * was asked for. `ignored` is for the specification's own operations, whose parameters it leaves
   * open, and for pages, to whose links mail programs add parameters.
   */
  readonly unknownParameters?: 'ignored';
  readonly body?: z.ZodType<B>;
  /** Faults of a body that depend on the environment, such as its date; found beside the schema's. */
  readonly findFaults?: (env: S, json: ExactJson) => Fault[];
  readonly bodyBytesMax?: number;
  /** A route with a large body: the slots that it shares with others of its kind. */
  readonly uploads?: UploadKind;
  /** Media types of a body that the handler reads as it arrives, in place of `body`. */
  readonly streams?: readonly string[];
  /** What 200 carries; null for an empty body. */
  readonly response: z.ZodType | null;
  /** Further media types that 200 can have. */
  readonly produces?: readonly string[];
  /** Error statuses besides those that every route has. */
  readonly refusals?: readonly number[];
  /** A value for the response schema, or a whole `Answer`. */
  readonly handle: (context: RouteContext<S>, input: Input<P, Q, B>) => Promise<unknown>;
};

/** A route whose input types are settled: what `server.ts` and `openapi.ts` work with. */
export type Route<S extends BaseServices> = RouteSpec<S, unknown, unknown, unknown>;

export function defineRoute<S extends BaseServices, P = unknown, Q = unknown, B = unknown>(
  spec: RouteSpec<S, P, Q, B>,
): Route<S> {
  // The schemas of the same spec produce what its handler takes; that is all the cast relies on.
  return spec as unknown as Route<S>;
}

/** Marks a handler's result as one page of a list; `next` is the cursor of the page after it. */
export class Page<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
  constructor(items: readonly T[], next: string | undefined) {
    this.items = items;
    this.next = next;
  }
}

export type { Answer, JsonNumber };
