import { z } from 'zod';
import { findCurrency } from '../core/currency.ts';
import { readXml } from '../core/xml.ts';
import { type ParsedQuotes, parseQuoteRate, quoteText } from './quote-file.ts';
import type { RateQuote } from './rate-book.ts';

/**
 * The euro foreign exchange reference rates of the European Central Bank: a GESMES envelope with
 * one `Cube` per day (`time`), which holds one `Cube` per currency (`currency`, and `rate` in units
 * of that currency for one euro). The daily, 90-day and full files have this form.
 */
const xmlOptions = { repeated: new Set(['Cube']), depthMax: 16 };

const envelopeSchema = z.object({
  Envelope: z.object({
    Cube: z.tuple([
      z.object({
        Cube: z
          .array(z.object({ '@time': z.string().max(40), Cube: z.unknown() }))
          .min(1)
          .max(50_000),
      }),
    ]),
  }),
});

const daySchema = z
  .array(z.object({ '@currency': z.string().max(40), '@rate': z.string().max(60) }))
  .min(1)
  .max(300);

/**
 * The quotes (base EUR) of the newest day in a file of the central bank, as of 14:00 UTC of that
 * day: the earliest time of publication (about 16:00 in Frankfurt).
 */
export function parseEcbRates(xml: string): ParsedQuotes {
  const reading = readXml(xml, xmlOptions);
  if (!reading.ok) return fail(reading.fault);
  const envelope = envelopeSchema.safeParse(reading.document);
  if (!envelope.success) return fail(describe(envelope.error));
  const [{ Cube: days }] = envelope.data.Envelope.Cube;
  for (const day of days) {
    if (readDayMs(day['@time']) === undefined)
      return fail(`${quoteText(day['@time'])} must be a date, YYYY-MM-DD`);
  }
  const newest = days.reduce((left, right) => (right['@time'] > left['@time'] ? right : left));
  const time = newest['@time'];
  if (days.filter((day) => day['@time'] === time).length > 1) {
    return fail(`the day ${time} occurs twice`);
  }
  const rates = daySchema.safeParse(newest.Cube);
  if (!rates.success) return fail(`${time}: ${describe(rates.error)}`);
  return readDay(rates.data, readDayMs(time) ?? 0);
}

function readDay(rates: z.infer<typeof daySchema>, asOfMs: number): ParsedQuotes {
  const quotes: RateQuote[] = [];
  const unknownCurrencies: string[] = [];
  const seen = new Set(['EUR']);
  for (const { '@currency': currency, '@rate': text } of rates) {
    if (seen.has(currency)) return fail(`${quoteText(currency)} occurs twice`);
    seen.add(currency);
    const rate = parseQuoteRate(text);
    if (rate === undefined)
      return fail(`${quoteText(currency)}: ${quoteText(text)} must be a positive decimal`);
    if (findCurrency(currency) === undefined) {
      unknownCurrencies.push(quoteText(currency));
    } else {
      quotes.push({ base: 'EUR', quote: currency, rate, source: 'ecb', asOfMs });
    }
  }
  return { ok: true, quotes, unknownCurrencies };
}

function readDayMs(day: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) return undefined;
  const timeMs = Date.parse(`${day}T14:00:00Z`);
  // Date.parse may roll 30 February over into March.
  if (Number.isNaN(timeMs) || new Date(timeMs).toISOString().slice(0, 10) !== day) return undefined;
  return timeMs;
}

function describe(error: z.ZodError): string {
  const [issue] = error.issues;
  return `at ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'unexpected form'}`;
}

function fail(fault: string): ParsedQuotes {
  return { ok: false, fault: `invalid file of ECB reference rates: ${fault}` };
}
