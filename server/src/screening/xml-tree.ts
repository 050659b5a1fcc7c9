import { SaxesParser } from 'saxes';
import { textInSlices } from '../core/slices.ts';

/**
 * Large XML files of lists, read entry by entry, so that only one is held as a tree. Names are local:
 * the prefix of a namespace is dropped.
 */

export type XmlElement = {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: XmlElement[];
  /** Without the texts of its children. */
  text: string;
};

const depthMax = 12;
const textLengthMax = 100_000;
/** Takes about a millisecond; the parser copies each portion. */
const sliceLength = 16_384;

export type XmlEntries = {
  /** The names of the elements that are entries. */
  readonly entryNames: readonly string[];
  readonly onRoot: (root: XmlElement) => void;
  readonly onEntry: (entry: XmlElement) => void;
  /** An element directly under the root that is no entry. */
  readonly onOther?: (element: XmlElement) => void;
};

/** Returns why it is not read: incomplete, nested too deeply, or with a declaration of its type. */
export async function readXmlEntries(
  text: string,
  handlers: XmlEntries,
): Promise<string | undefined> {
  const parser = openParser(handlers);
  try {
    for await (const portion of textInSlices(text, sliceLength)) parser.write(portion);
    parser.close();
    return undefined;
  } catch (error) {
    return String(error instanceof Error ? error.message : error).slice(0, 200);
  }
}

function openParser({ entryNames, onRoot, onEntry, onOther }: XmlEntries): SaxesParser {
  const parser = new SaxesParser();
  const open: XmlElement[] = [];
  parser.on('doctype', () => {
    // No list declares one, and a declaration could attempt entity expansion.
    throw new Error('a document type declaration is not allowed');
  });
  parser.on('opentag', ({ name, attributes }) => {
    if (open.length === depthMax) throw new Error('elements are nested too deeply');
    const element = {
      name: localName(name),
      attributes: new Map(
        Object.entries(attributes).map(([key, value]) => [localName(key), value]),
      ),
      children: [],
      text: '',
    };
    if (open.length === 0) onRoot(element);
    open.push(element);
  });
  parser.on('text', (portion) => {
    const element = open.at(-1);
    if (element === undefined) return;
    element.text += portion;
    if (element.text.length > textLengthMax) throw new Error('a text is too long');
  });
  parser.on('closetag', () => {
    const element = open.pop();
    if (element === undefined) return;
    if (entryNames.includes(element.name)) onEntry(element);
    else if (open.length > 1) open.at(-1)?.children.push(element);
    else onOther?.(element);
  });
  return parser;
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

export function childrenOf(element: XmlElement | undefined, name: string): XmlElement[] {
  return element?.children.filter((child) => child.name === name) ?? [];
}

/** The texts of the children of that name, without those that are empty. */
export function textsOf(element: XmlElement | undefined, name: string): string[] {
  return childrenOf(element, name)
    .map(({ text }) => text.trim())
    .filter((text) => text !== '');
}

export function attributeOf(element: XmlElement | undefined, name: string): string {
  return element?.attributes.get(name)?.trim() ?? '';
}
