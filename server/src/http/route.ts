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

/** How a module declares its operations. `routing.ts` serves them, `openapi.ts` describes them. */

/** The services of every environment. A module's routes require more by their own type. */
export type BaseServices = {
  readonly name: EnvironmentName;
  readonly db: Database;
  readonly keys: KeyRing;
  readonly clock: Clock;
};

export type RequestView = {
  /** As in `X-Request-Id`. */
  readonly id: string;
  readonly method: string;
  readonly path: string;
  /** The path of this request with other query parameters: for links to the next page. */
  readonly url: string;
  readonly query: Readonly<Record<string, string | string[] | undefined>>;
  readonly accept: string;
  readonly authorization: string;
  readonly remoteAddress: string;
  readonly baseUrl: string;
  /** The value of a header, whose name is in lower case; "" where it is absent. */
  header(name: string): string;
};

export type WriteOptions = {
  isOneEffect?: boolean;
  isAcrossAccounts?: boolean;
  /** The user whose personal data the answer holds: it is stored under that user's key. */
  aboutUser?: string;
  /**
   * Performs the effect in a transaction that many requests share, idempotency record included.
   * Falls back to `work` if it returns undefined, or fails although the request has a key.
   */
  tryGrouped?: (builder: AnswerBuilder) => Promise<AnswerContent | undefined>;
};

/** Builds the answer of a request that shares its transaction with others. */
export type AnswerBuilder = {
  readonly requestKey: RequestKey | undefined;
  /**
   * `valueOf` turns the transaction's result into a value of the response schema; `userOf` names
   * the user whose personal data it holds.
   */
  prepare<Result>(
    valueOf: (result: Result) => unknown,
    userOf: (result: Result) => AnswerUser,
  ): PreparedAnswer<Result>;
};

/** `dataKey` as it is stored. */
export type AnswerUser = { readonly userId: string; readonly dataKey: Buffer };

export type PreparedAnswer<Result> = {
  /** Stored with the effect if the client sent a key. */
  readonly keyed: KeyedAnswer<Result> | undefined;
  toContent(result: Result): AnswerContent;
};

/** The text of an answer, or a value of the response schema. */
export type AnswerContent = { text: string | null } | { value: unknown };

/** An idempotency key, the SHA-256 digest of its request, and that digest sealed, as it is stored. */
export type RequestKey = { key: string; digest: Buffer; fingerprint: Buffer };

export type RouteContext<S extends BaseServices> = {
  readonly env: S;
  readonly principal: Principal;
  readonly accountId: string;
  readonly request: RequestView;
  /** Whether `write` rolls its work back, so that the answer says what would happen. */
  readonly isDryRun: boolean;
  /** Whether the caller's credential still allows the request: for an answer that takes long. */
  isAllowed(): Promise<boolean>;
  /** For a route with `streams`. */
  readonly upload: Upload | undefined;
  /**
   * Runs the effect of a request in one transaction with its idempotency record if the client sent
   * a key; a repeated key replays the first answer, which is what `work` returns. `isOneEffect`
   * saves begin and commit without a key, if a single statement of `work` changes anything.
   * `isAcrossAccounts` gives `work` the owner's view: for reviewers of identities, and for the
   * sandbox, where a client creates accounts and moves the clock of all.
   */
  write(work: (session: Session) => Promise<unknown>, options?: WriteOptions): Promise<Answer>;
};

/** A body that the handler reads as a stream. */
export type Upload = {
  /** Without parameters, in lower case. */
  readonly mediaType: string;
  readonly bytes: AsyncIterable<Buffer>;
  /** The record of the Idempotency-Key, if the client sent one. */
  readonly record: KeyRecord | undefined;
};

/**
 * The record of a key whose request takes several transactions: claimed when the request begins,
 * completed with the answer in the last one.
 */
export type KeyRecord = {
  readonly key: string;
  /**
   * Claims the key for this request; an earlier attempt of the same request may have claimed it.
   *
   * @throws AppError idempotency_key_reused if another request has it.
   */
  claim(session: Session): Promise<void>;
  /** Stores the answer of a claimed key once. */
  answer(session: Session, text: string): Promise<void>;
  /** The stored answer, if there is one. */
  findAnswer(session: Session): Promise<string | undefined>;
};

export type Input<P, Q, B> = { readonly params: P; readonly query: Q; readonly body: B };

type Path = `/${string}`;

export type RouteSpec<S extends BaseServices, P, Q, B> = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  /** Path parameters are written `{name}`. */
  readonly path: Path;
  /** Whether its path begins with `/{version}`. */
  readonly isVersioned: boolean;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** A scope, `bearer` for any valid credential of an account, or `operator`. */
  readonly access: Scope | 'bearer' | 'public' | 'operator';
  /**
   * Names the owner of a public upload before its body is read.
   *
   * @throws AppError if the path grants no upload.
   */
  readonly admit?: (env: S, params: unknown) => Promise<UploadOwner>;
  /** Served in staging only. */
  readonly isSandbox?: boolean;
  readonly params?: z.ZodType<P>;
  readonly query?: z.ZodType<Q>;
  /** Whether the list can be filtered by `metadata[key]=value`. */
  readonly searchesMetadata?: true;
  /**
   * A GET refuses query parameters that `query` does not name, since ignoring a filter would return
   * too much. `ignored` is for the specification's own operations, which ignore them, and for
   * pages, to whose links mail programs add parameters.
   */
  readonly unknownParameters?: 'ignored';
  readonly body?: z.ZodType<B>;
  /**
   * Members of the body that the schema does not name are ignored. Where this is absent, one that looks
   * like an absent member is refused, since ignoring it could do more than the client asked for.
   */
  readonly unknownMembers?: 'ignored';
  /** Faults that depend on the environment, such as its date; reported with those of the schema. */
  readonly findFaults?: (env: S, json: ExactJson) => Fault[];
  /** Faults that depend on the account, for a body with other faults; else `handle` finds them. */
  readonly findAccountFaults?: (env: S, accountId: string, json: ExactJson) => Promise<Fault[]>;
  readonly bodyBytesMax?: number;
  /** The kind of upload, for the limit on concurrent uploads. */
  readonly uploads?: UploadKind;
  /** Whether the client may ask for a dry run; other writing operations refuse it. */
  readonly hasDryRun?: true;
  /** Media types of a body that the handler reads as a stream, instead of `body`. */
  readonly streams?: readonly string[];
  /** The body of 200; null if it is empty. */
  readonly response: z.ZodType | null;
  /** Further media types of 200. */
  readonly produces?: readonly string[];
  /** What a browser is shown in place of a problem. */
  readonly problemPage?: ProblemPage;
  /** Error statuses besides those that every route has. */
  readonly refusals?: readonly number[];
  /** Returns a value of the response schema, a `Page` or an `Answer`. */
  readonly handle: (context: RouteContext<S>, input: Input<P, Q, B>) => Promise<unknown>;
};

/** Undefined where the problem is shown as it is. */
export type ProblemPage = (
  status: number,
  request: Pick<RequestView, 'query' | 'header'>,
) => Answer | undefined;

/** A route without the types of its input. */
export type Route<S extends BaseServices> = RouteSpec<S, unknown, unknown, unknown>;

export function defineRoute<S extends BaseServices, P = unknown, Q = unknown, B = unknown>(
  spec: RouteSpec<S, P, Q, B>,
): Route<S> {
  // Sound, because the schemas of a spec produce the input of its handler.
  return spec as unknown as Route<S>;
}

/** One page of a list; `next` is the cursor of the next page. */
export class Page<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
  constructor(items: readonly T[], next: string | undefined) {
    this.items = items;
    this.next = next;
  }
}

export type { Answer, JsonNumber };
