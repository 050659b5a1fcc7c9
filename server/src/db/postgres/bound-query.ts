import pg from 'pg';

/**
 * A statement bound to an account. The setting by which row-level security knows the account is made in
 * the transaction of the statement, just before it, and ends with it: a connection that is lent to
 * another account, or used by mistake without one, sees no row. Both travel in one message, so that the
 * binding costs no round trip.
 */

/** As whom the service works for one client. */
export const tenantRole = 'outlay_tenant';

/**
 * What precedes a statement in its transaction; its parameter is the account. It is prepared on the
 * connection when that is opened.
 */
export type Preceding = { readonly name: string; readonly text: string };

export const bindAccount = {
  name: 'bind_account',
  text: `select set_config('outlay.account', $1, true)`,
} as const;

type QueryConfig = pg.QueryConfig & { queryMode: 'extended'; query_timeout?: number };
type Callback = (error: Error | undefined, result: pg.QueryResult) => void;

/** What the driver has and its types leave out. */
type Wire = {
  bind(config: { statement: string; values: readonly string[] }): void;
  execute(config: object): void;
};
type DriverQuery = {
  query_timeout?: number | undefined;
  prepare(wire: Wire): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, wire: Wire): void;
};
const Query = pg.Query as unknown as new (config: QueryConfig, callback: Callback) => DriverQuery;

/**
 * Bind, execute, and the statement's own messages up to the one Sync: until then all of it is one
 * transaction.
 */
class BoundQuery extends Query {
  readonly #binding: Binding;
  /** What precedes it and has not ended. */
  #left: number;

  constructor(config: QueryConfig, binding: Binding, callback: Callback) {
    super(config, callback);
    this.#binding = binding;
    this.#left = binding.hold === undefined ? 1 : 2;
    this.query_timeout = config.query_timeout;
  }

  override prepare(wire: Wire): void {
    const { preceding, accountId, hold } = this.#binding;
    wire.bind({ statement: preceding.name, values: [accountId] });
    wire.execute({});
    if (hold !== undefined) {
      wire.bind({ statement: hold.name, values: [] });
      wire.execute({});
    }
    super.prepare(wire);
  }

  // The first rows and the first ends are those of the binding.
  override handleDataRow(message: unknown): void {
    if (this.#left === 0) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, wire: Wire): void {
    if (this.#left === 0) super.handleCommandComplete(message, wire);
    else this.#left -= 1;
  }
}

export type Binding = {
  readonly preceding: Preceding;
  readonly accountId: string;
  /** Without parameters; prepared before, as the other is. */
  readonly hold?: Preceding | undefined;
};

/** Sends the statement with what precedes it, for the account; without one, for none. */
export function queryBound(
  client: pg.Client,
  binding: Binding,
  query: pg.QueryConfig & { query_timeout?: number },
): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    const bound = new BoundQuery({ ...query, queryMode: 'extended' }, binding, (error, result) => {
      if (error === undefined || error === null) resolve(result);
      else reject(error);
    });
    client.query(bound as unknown as pg.Submittable);
  });
}
