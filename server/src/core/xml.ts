import { SaxesParser } from 'saxes';

/**
 * XML as plain data. An element with neither attributes nor children is its text, trimmed. Any other
 * is an object: its children by local name, its attributes by `@` and local name, and its text, if it
 * has one, as `#text`. Values stay text, since an amount that becomes a binary double has lost digits.
 */
export type XmlValue = string | XmlValue[] | { [name: string]: XmlValue };

export type XmlReading =
  | { readonly ok: true; readonly document: Readonly<Record<string, XmlValue>> }
  /** Never quotes the file, which may hold personal data. */
  | { readonly ok: false; readonly fault: string };

export type XmlOptions = {
  /** Local names of elements that may occur more than once: always arrays. */
  readonly repeated: ReadonlySet<string>;
  readonly depthMax: number;
};

type OpenElement = {
  readonly name: string;
  readonly members: Map<string, XmlValue>;
  text: string;
};

/** A document with a document type is refused unread: entities that expand are an attack. */
export function readXml(text: string, { repeated, depthMax }: XmlOptions): XmlReading {
  if (/<!(?:doctype|entity)/i.test(text)) {
    return { ok: false, fault: 'it declares a document type or entities' };
  }
  const document = makeElement('');
  const open = [document];
  const parser = new SaxesParser();
  parser.on('opentag', ({ name, attributes }) => {
    if (open.length > depthMax) throw new Error('too deep');
    const element = makeElement(getLocalName(name));
    for (const [attribute, value] of Object.entries(attributes)) {
      if (!/^xmlns(?::|$)/.test(attribute)) {
        element.members.set(`@${getLocalName(attribute)}`, value);
      }
    }
    open.push(element);
  });
  const addText = (part: string): void => {
    const element = open.at(-1);
    if (element !== undefined) element.text += part;
  };
  parser.on('text', addText);
  parser.on('cdata', addText);
  parser.on('closetag', () => {
    const element = open.pop();
    const parent = open.at(-1);
    if (element !== undefined && parent !== undefined) addMember(parent, element, repeated);
  });
  try {
    // The parser takes any portions; a megabyte keeps its own copies small.
    for (let from = 0; from < text.length; from += 1_048_576) {
      parser.write(text.slice(from, from + 1_048_576));
    }
    parser.close();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const { line, column } = parser;
    return { ok: false, fault: `it is not well-formed XML (line ${line}, column ${column})` };
  }
  return { ok: true, document: Object.fromEntries(document.members) };
}

function makeElement(name: string): OpenElement {
  return { name, members: new Map(), text: '' };
}

function getLocalName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function addMember(
  parent: OpenElement,
  { name, members, ...element }: OpenElement,
  repeated: ReadonlySet<string>,
): void {
  const text = element.text.trim();
  if (members.size > 0 && text !== '') members.set('#text', text);
  const value = members.size > 0 ? Object.fromEntries(members) : text;
  const present = parent.members.get(name);
  if (Array.isArray(present)) present.push(value);
  else if (present !== undefined) parent.members.set(name, [present, value]);
  else parent.members.set(name, repeated.has(name) ? [value] : value);
}
