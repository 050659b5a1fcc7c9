import { type NoticeType, noticeTypes } from './notice-types.ts';

/**
 * The form of a template: lines `subject:` and `sms:`, an empty line, and the paragraphs of the e-mail.
 * Texts have placeholders, `{{amount}}`. A paragraph `[label]({{receipt_link}})` becomes a button, and
 * one that is only `{{pickup_code}}` stands out. Everything else is plain text.
 */
export type Template = {
  readonly subject: string;
  readonly sms: string;
  readonly paragraphs: readonly Paragraph[];
};

export type Paragraph =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code' }
  | { readonly kind: 'link'; readonly label: string };

export type Read<T> = { readonly value: T; readonly faults: readonly string[] };

const everywhere = ['recipient', 'sender', 'amount', 'payer', 'time', 'reference', 'receipt_link'];

/** What a template of a type can say, besides `everywhere`. */
const ownPlaceholders: Readonly<Record<NoticeType, readonly string[]>> = {
  committed: ['arrival'],
  ready_for_pickup: ['pickup_code'],
  completed: [],
  canceled: [],
  returned: [],
};

export type Placeholders = Readonly<Record<string, string>>;

const charactersMax = 20_000;
const placeholderPattern = /\{\{ *([a-z_]+) *\}\}/g;
const linkPattern = /^\[([^\]\n]+)\]\(\{\{ *receipt_link *\}\}\)$/;
const codePattern = /^\{\{ *pickup_code *\}\}$/;

/** Reads a template. The faults are complete; with any, the template must not be used. */
export function readTemplate(text: string, type: NoticeType): Read<Template> {
  const [head = '', ...rest] = text
    .replaceAll('\r\n', '\n')
    .trim()
    .split(/\n{2,}/);
  const header = readHeader(head);
  const { subject = '', sms = '' } = header.value;
  const paragraphs = rest.map(readParagraph);
  const faults = [...header.faults, ...listPlaceholderFaults(text, type)];
  if (text.length > charactersMax) faults.push(`must have at most ${charactersMax} characters`);
  if (paragraphs.length === 0) faults.push('has no paragraph after the empty line');
  if (type === 'ready_for_pickup') {
    const isIn = (part: string): boolean => /\{\{ *pickup_code *\}\}/.test(part);
    if (!rest.some(isIn)) faults.push('the e-mail must have {{pickup_code}}');
    if (!isIn(sms)) faults.push('sms must have {{pickup_code}}');
  }
  return { value: { subject, sms, paragraphs }, faults };
}

const headerNames = ['subject', 'sms'];

function readHeader(head: string): Read<Partial<Record<string, string>>> {
  const value: Record<string, string> = {};
  const faults: string[] = [];
  for (const line of head.split('\n')) {
    const [, name = '', content = ''] = /^([a-z]+):(.*)$/.exec(line.trim()) ?? [];
    if (!headerNames.includes(name)) {
      faults.push(`the first lines must be subject: and sms:, not "${line.slice(0, 40)}"`);
    } else if (value[name] !== undefined) faults.push(`has ${name}: twice`);
    else value[name] = content.trim();
  }
  for (const name of headerNames) {
    if ((value[name] ?? '') === '') faults.push(`has no ${name}:`);
  }
  return { value, faults };
}

function readParagraph(text: string): Paragraph {
  const label = linkPattern.exec(text)?.[1];
  if (label !== undefined) return { kind: 'link', label };
  return codePattern.test(text) ? { kind: 'code' } : { kind: 'text', text };
}

function listPlaceholderFaults(text: string, type: NoticeType): string[] {
  const known = [...everywhere, ...ownPlaceholders[type]];
  const faults = listUnknown(text, known).map((name) => {
    const owners = noticeTypes.filter((other) => ownPlaceholders[other].includes(name));
    const where = owners.length === 0 ? '' : ` here: it belongs to ${owners.join(', ')}`;
    return `{{${name}}} is not a placeholder${where}`;
  });
  return [...faults, ...listBraceFaults(text)];
}

export function listUnknown(text: string, known: readonly string[]): string[] {
  const names = [...text.matchAll(placeholderPattern)].map(([, name = '']) => name);
  return [...new Set(names)].filter((name) => !known.includes(name));
}

export function listBraceFaults(text: string): string[] {
  const rest = text.replaceAll(placeholderPattern, '');
  return /\{\{|\}\}/.test(rest)
    ? ['has {{ or }} that belong to no placeholder (names have the letters a to z and _)']
    : [];
}

/** Inserts each value once, whatever it contains. */
export function fill(
  text: string,
  values: Placeholders,
  shape: (value: string, name: string) => string = (value) => value,
): string {
  return text.replaceAll(placeholderPattern, (_match, name: string) =>
    shape(values[name] ?? '', name),
  );
}
