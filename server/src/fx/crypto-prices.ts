import { z } from 'zod';
import { findCurrency } from '../core/currency.ts';
import { type ParsedQuotes, parseQuoteRate, quoteText } from './quote-file.ts';
import type { RateQuote } from './rate-book.ts';

/**
 * Outlay's own price format (docs/rates.md): a list of `{ base, quote, price, as_of }`, or an
 * object of prices with a common time and quote currency (default USD). A price is decimal text, or
 * a number that is read digit by digit.
 */
const code = z.string().min(1).max(40);
const price = z.string().max(60);
const asOf = z.iso.datetime({ offset: true }).max(40);
const pricesMax = 1_000;

const rowSchema = z.object({ base: code, quote: code.default('USD'), price, as_of: asOf });
const listSchema = z.array(rowSchema).min(1).max(pricesMax);
const objectSchema = z.object({
  as_of: asOf,
  quote: code.default('USD'),
  prices: z.record(code, price),
});

type PriceRow = z.infer<typeof rowSchema>;

/** The quotes of a file of prices, to be stored under the name `source`. */
export function parsePrices(json: string, source: string): ParsedQuotes {
  const document = readExactJson(json);
  if (!document.ok) return document;
  if (Array.isArray(document.value)) {
    const list = listSchema.safeParse(document.value);
    return list.success ? readRows(list.data, source) : fail(describe(list.error));
  }
  const object = objectSchema.safeParse(document.value);
  if (!object.success) return fail(describe(object.error));
  // JSON.parse silently keeps the last of equal names, so that they are searched in the text.
  const repeated = findRepeatedName(json);
  if (repeated !== undefined) return fail(`${quoteText(repeated)} occurs twice`);
  const { as_of, quote, prices } = object.data;
  const rows = Object.entries(prices).map(([base, text]) => ({ base, quote, price: text, as_of }));
  if (rows.length === 0 || rows.length > pricesMax)
    return fail(`it has ${rows.length} prices instead of 1 to ${pricesMax}`);
  return readRows(rows, source);
}

/** JSON with each number as its source text. */
function readExactJson(
  json: string,
): { ok: true; value: unknown } | (ParsedQuotes & { ok: false }) {
  const keepDigits = (_name: string, value: unknown, context: { source?: string }): unknown =>
    typeof value === 'number' ? context.source : value;
  try {
    const value: unknown = JSON.parse(json, keepDigits as Parameters<typeof JSON.parse>[1]);
    return { ok: true, value };
  } catch (error) {
    return fail(`not JSON: ${quoteText(String(error))}`);
  }
}

function findRepeatedName(json: string): string | undefined {
  const seen = new Set<string>();
  // Every text is matched to its end, whether it is a name or a value.
  for (const [, name = '', colon] of json.matchAll(/"((?:[^"\\]|\\.)*)"(\s*:)?/g)) {
    if (colon === undefined) continue;
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}

function readRows(rows: readonly PriceRow[], source: string): ParsedQuotes {
  const quotes: RateQuote[] = [];
  const unknownCurrencies = new Set<string>();
  const seen = new Set<string>();
  for (const { base, quote, price: text, as_of } of rows) {
    const pair = `${base}/${quote}`;
    if (base === quote) return fail(`${quoteText(pair)} must be two currencies`);
    if (seen.has(pair)) return fail(`${quoteText(pair)} occurs twice`);
    seen.add(pair);
    const rate = parseQuoteRate(text);
    if (rate === undefined)
      return fail(`${quoteText(pair)}: ${quoteText(text)} must be a positive decimal`);
    const unknown = [base, quote].filter((name) => findCurrency(name) === undefined);
    for (const name of unknown) unknownCurrencies.add(quoteText(name));
    if (unknown.length === 0) {
      quotes.push({ base, quote, rate, source, asOfMs: Date.parse(as_of) });
    }
  }
  return { ok: true, quotes, unknownCurrencies: [...unknownCurrencies] };
}

function describe(error: z.ZodError): string {
  const [issue] = error.issues;
  return `at ${quoteText(issue?.path.join('.') ?? '')}: ${issue?.message ?? 'unexpected form'}`;
}

function fail(fault: string): ParsedQuotes & { ok: false } {
  return { ok: false, fault: `invalid price file: ${fault}` };
}
