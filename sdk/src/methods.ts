import type { operations } from './generated/api.ts';
import type { operationTable } from './generated/operations.ts';

/** The type of every operation's method, from the OpenAPI description. */

export type CallOptions = {
  /** Ends the call, with all its retries, by throwing the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
  /** Default: a random key for each writing call. Your own survives a restart of your program. */
  readonly idempotencyKey?: string | undefined;
  /** Asks what the call would do, without doing it; refused by operations without a dry run. */
  readonly dryRun?: boolean;
  /** The media type to ask for, such as `application/pdf` (the answer is then bytes). */
  readonly accept?: string;
  /** Of a body that is text, such as a batch. Default: `text/csv`. */
  readonly contentType?: string;
};

/** A list of any length: `for await` reads page after page, as far as it is followed. */
export type Pages<Row> = AsyncIterable<Row> & { pages(): AsyncIterable<Row[]> };

type OperationId = keyof typeof operationTable & keyof operations;

/** What an operation lacks, the generated types give as `never`. */
type Present<Type> = [Type] extends [never] ? unknown : Type;

/** An optional member may also be undefined: it is then left out. */
type Loose<Type> = Type extends readonly unknown[]
  ? Type
  : { [Key in keyof Type]: object extends Pick<Type, Key> ? Type[Key] | undefined : Type[Key] };

type PathOf<Operation> = Operation extends { parameters: { path: infer Path } }
  ? Omit<Path, 'version'>
  : unknown;

type QueryOf<Operation> = Operation extends { parameters: { query?: infer Query } }
  ? Loose<Present<Exclude<Query, undefined>>>
  : unknown;

type BodyOf<Operation> = Operation extends { requestBody: { content: infer Content } }
  ? { body: Loose<Content[keyof Content]> }
  : Operation extends { requestBody?: infer Optional }
    ? Exclude<Optional, undefined> extends { content: infer Content }
      ? [Optional] extends [undefined]
        ? unknown
        : { body?: Loose<Content[keyof Content]> }
      : unknown
    : unknown;

type Flat<Type> = { [Key in keyof Type]: Type[Key] };

/** Path and query parameters by name, and `body`. */
export type ArgumentsOf<Id extends OperationId> = Flat<
  PathOf<operations[Id]> & QueryOf<operations[Id]> & BodyOf<operations[Id]>
>;

/** The JSON of a 200; text where there is no JSON; undefined for an empty answer. */
export type AnswerOf<Id extends OperationId> = operations[Id] extends {
  responses: { 200: { content: infer Content } };
}
  ? Content extends { 'application/json': infer Json }
    ? Json
    : Content[keyof Content]
  : undefined;

type ResultOf<Id extends OperationId> = (typeof operationTable)[Id] extends { isPaged: true }
  ? AnswerOf<Id> extends readonly (infer Row)[]
    ? Pages<Row>
    : never
  : Promise<AnswerOf<Id>>;

export type Methods = {
  [Id in OperationId]: object extends ArgumentsOf<Id>
    ? (values?: ArgumentsOf<Id>, options?: CallOptions) => ResultOf<Id>
    : (values: ArgumentsOf<Id>, options?: CallOptions) => ResultOf<Id>;
};
