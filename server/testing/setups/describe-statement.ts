import { once } from 'node:events';
import type pg from 'pg';

/** A column as the server describes it. */
export type Field = { readonly name: string; readonly dataTypeID: number };

/** The protocol of the driver's connection, of which its types leave out these messages. */
type Protocol = NodeJS.EventEmitter & {
  parse(query: { name: string; text: string; types: number[] }): void;
  describe(target: { type: 'S'; name: string }): void;
  sync(): void;
};

/**
 * The columns that a statement returns, without running it.
 *
 * @throws where the server does not accept the statement.
 */
export async function describeStatement(client: pg.Client, text: string): Promise<Field[]> {
  const connection = (client as unknown as { connection: Protocol }).connection;
  let fields: Field[] = [];
  let failure: Error | undefined;
  // The driver takes what it did not ask for itself to the query that is active: this one.
  const query = {
    submit: () => {
      connection.parse({ name: '', text, types: [] });
      connection.describe({ type: 'S', name: '' });
      connection.sync();
    },
    handleRowDescription: (message: { fields: Field[] }) => {
      fields = message.fields;
    },
    handleError: (error: Error) => {
      failure = error;
    },
    handleReadyForQuery: () => undefined,
  };
  const ready = once(connection, 'readyForQuery');
  client.query(query as unknown as pg.Submittable);
  await ready;
  if (failure !== undefined) throw new Error(`${text}\n${failure.message}`, { cause: failure });
  return fields;
}
