import { escapeMarkup } from '../../core/markup.ts';
import { readXml } from '../../core/xml.ts';
import { decodeXml } from './text-encoding.ts';

/** XML as ISO 20022 uses it: elements that hold either elements or text. */

/** The text of an element with children; undefined children are left out. */
export function element(
  name: string,
  children: readonly (string | undefined)[],
  attributes: Readonly<Record<string, string>> = {},
): string {
  const inner = children.filter((child) => child !== undefined).join('');
  return `<${name}${formatAttributes(attributes)}>${inner}</${name}>`;
}

/** The text of an element that holds a text. */
export function textElement(
  name: string,
  text: string,
  attributes: Readonly<Record<string, string>> = {},
): string {
  return `<${name}${formatAttributes(attributes)}>${escapeMarkup(text)}</${name}>`;
}

/** Undefined where the text is empty: most elements are optional and none may be empty. */
export function optionalText(name: string, text: string): string | undefined {
  return text === '' ? undefined : textElement(name, text);
}

/** A whole message of the catalog, such as `pain.001.001.09`. */
export function writeDocument(message: string, body: string): string {
  const xmlns = `urn:iso:std:iso:20022:tech:xsd:${message}`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element('Document', [body], { xmlns })}\n`;
}

function formatAttributes(attributes: Readonly<Record<string, string>>): string {
  const parts = Object.entries(attributes).map(
    ([name, value]) => ` ${name}="${escapeMarkup(value)}"`,
  );
  return parts.join('');
}

/** Elements that may occur more than once in the messages that are read. */
const repeatedElements = new Set([
  'PmtInf',
  'CdtTrfTxInf',
  'OrgnlPmtInfAndSts',
  'TxInfAndSts',
  'StsRsnInf',
  'Ntfctn',
  'Stmt',
  'Bal',
  'Ntry',
  'NtryDtls',
  'TxDtls',
  'Chrgs',
  'Rcrd',
]);

/** The deepest path that is read has about fifteen elements. */
const depthMax = 64;

export type ParsedDocument =
  | {
      readonly ok: true;
      /** Such as `pain.002.001.11`. */
      readonly messageName: string;
      /** The content of `Document`, in the form of `readXml`. */
      readonly content: unknown;
    }
  | { readonly ok: false; readonly fault: string };

const namespacePattern = /["']urn:iso:std:iso:20022:tech:xsd:([a-z]{4}\.\d{3}\.\d{3}\.\d{2})["']/;

/** Reads one ISO 20022 message. */
export function parseDocument(bytes: Uint8Array): ParsedDocument {
  const decoded = decodeXml(bytes);
  if (!decoded.ok) return decoded;
  const { text } = decoded;
  const reading = readXml(text, { repeated: repeatedElements, depthMax });
  if (!reading.ok) return reading;
  const messageName = namespacePattern.exec(text)?.[1];
  if (messageName === undefined) return { ok: false, fault: 'it names no ISO 20022 message' };
  const { Document: content } = reading.document;
  if (content === undefined) {
    return { ok: false, fault: 'its outermost element is not Document' };
  }
  return { ok: true, messageName, content };
}
