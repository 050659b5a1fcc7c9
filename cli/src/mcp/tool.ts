import { z } from 'zod';
import { type Client, decimal } from '../../../sdk/src/index.ts';

/** What a tool is, and what it gets to work with. */

export type Session = {
  readonly client: Client;
  readonly signal: AbortSignal;
  /** Shows a person the link of a proposal, past the model, where that can be done. */
  offerLink(proposal: { proposal_token: string; about: string }): Promise<LinkOffer>;
  /** Tells the client that the link of a decided proposal is no longer needed. */
  closeLink(proposalToken: string): Promise<void>;
};

/** `command`: no link was shown, and a person has to run `outlay proposals`. */
export type LinkOffer = 'shown' | 'refused' | 'command';

type Shape = z.ZodRawShape;

/** JSON has no undefined: what is optional is there or absent. */
type Given<Input extends Shape> = {
  [Name in keyof z.output<z.ZodObject<Input>>]: Exclude<
    z.output<z.ZodObject<Input>>[Name],
    undefined
  >;
};

type Definition<Input extends Shape, Output extends Shape> = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: Input;
  /** The members of the result. */
  readonly output: Output;
  /** read: changes nothing; write: stores something, and repeating it stores nothing more. */
  readonly kind: 'read' | 'write' | 'create';
  run(session: Session, values: Given<Input>): Promise<z.input<z.ZodObject<Output>>>;
};

export type Tool = Omit<Definition<Shape, Shape>, 'run'> & {
  run(session: Session, values: Readonly<Record<string, unknown>>): Promise<object>;
};

export function defineTool<Input extends Shape, Output extends Shape>(
  definition: Definition<Input, Output>,
): Tool {
  // Sound, because the schema of the input makes the values.
  return definition;
}

/** An object of the API as it is: its members are described in the OpenAPI document. */
export const record = z.looseObject({});
export const records = z.array(record);

export const userToken = z.string().describe('The recipient: usr_…');
export const payoutToken = z.string().describe('The payout: payout_…');
export const destinationToken = z.string().describe('From list_destinations');
export const currencyCode = z
  .string()
  .regex(/^[A-Z0-9]{3,5}$/)
  .describe('ISO 4217 code, or a ticker such as BTC');
export const countryCode = z
  .string()
  .regex(/^[A-Z]{3}$/)
  .describe('ISO 3166-1 alpha-3, such as MEX');
/** Text, because a JSON number may be rounded on its way through a model. */
export const amount = z
  .string()
  .regex(/^(?:0|[1-9]\d{0,17})(?:\.\d{1,12})?$/)
  .transform(decimal)
  .describe('Decimal text such as "12.50", without separators');
export const limit = z.int().min(1).max(100).default(20).describe('How many at most');
