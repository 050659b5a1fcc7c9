import type { PaymentOrder } from '../../../src/rails/partner/protocol.ts';
import { selectFields } from '../../../src/rails/partner/required-fields.ts';
import type { SimulatorOptions } from './simulator-options.ts';

/** Why an order is booked as rejected, by the optional parts of the protocol; undefined: it is not. */
export function findOrderFault(order: PaymentOrder, options: SimulatorOptions): string | undefined {
  const { payer, country: countryCode, currency } = order;
  const required = selectFields(options.requiredFields, { payer, countryCode, currency });
  const isIncomplete = [...required].some((field) => readField(order, field) === '');
  const books = options.defects.includes('books_incomplete_orders');
  return isIncomplete && !books ? 'invalid_details' : undefined;
}

/** "" where the order does not have it. */
function readField(order: object, field: string): string {
  const [name = '', ...rest] = field.split('.');
  const value: unknown = Object.hasOwn(order, name) ? order[name as keyof typeof order] : '';
  if (rest.length === 0) return typeof value === 'string' ? value : '';
  return typeof value === 'object' && value !== null ? readField(value, rest.join('.')) : '';
}
