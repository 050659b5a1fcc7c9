import type { EnvironmentName } from '../core/access.ts';
import { escapeMarkup } from '../core/markup.ts';
import type { Culture } from './culture.ts';
import { fill, type Paragraph, type Placeholders, type Template } from './template.ts';

/** A notice as an e-mail and as an SMS. */

export type EmailContent = { subject: string; text: string; html: string };

export type Composition = {
  readonly template: Template;
  readonly values: Placeholders;
  readonly culture: Culture;
  readonly environment: EnvironmentName;
};

export type Look = {
  readonly layout: string;
  /** `#rrggbb`; "" for the ordinary one. */
  readonly color: string;
  /** The name of the logo's attachment; "" without one. */
  readonly logoId: string;
};

/** A recipient must not believe that money is on its way. */
const testText = 'TEST: no money moves.';
const colorDefault = '#1d4f91';
/** Isolate a value from the direction of the text around it (UAX 9, section 2.4.2). */
const [isolate, endIsolate] = ['\u2068', '\u2069'];

export function composeEmail(composition: Composition, look: Look): EmailContent {
  const { template, values, environment } = composition;
  const subject = fill(template.subject, values);
  const isTest = environment === 'staging';
  return {
    subject: isTest ? `TEST: ${subject}` : subject,
    text: composeText(composition, isTest),
    html: composeHtml(composition, look, { subject, isTest }),
  };
}

export function composeSms({ template, values, environment }: Composition): string {
  const text = fill(template.sms, values);
  return environment === 'staging' ? `${testText} ${text}` : text;
}

function composeText({ template, values, culture }: Composition, isTest: boolean): string {
  const shape =
    culture.direction === 'ltr' ? undefined : (value: string) => isolate + value + endIsolate;
  const paragraphs = template.paragraphs.map((paragraph) => {
    if (paragraph.kind === 'link') return `${paragraph.label}\n${values['receipt_link']}`;
    if (paragraph.kind === 'code') return values['pickup_code'] ?? '';
    return fill(paragraph.text, values, shape);
  });
  return `${[...(isTest ? [testText] : []), ...paragraphs].join('\n\n')}\n`;
}

function composeHtml(
  { template, values, culture }: Composition,
  { layout, color, logoId }: Look,
  { subject, isTest }: { subject: string; isTest: boolean },
): string {
  const accent = color === '' ? colorDefault : color;
  const sender = escapeHtml(values['sender'] ?? '');
  return fill(layout, {
    language: culture.language,
    direction: culture.direction,
    subject: escapeHtml(subject),
    sender: `<bdi>${sender}</bdi>`,
    color: accent,
    logo:
      logoId === ''
        ? ''
        : `<img src="cid:${logoId}" alt="${sender}" height="40" style="display:block;height:40px;border:0">`,
    headline: `<bdi>${escapeHtml(values['amount'] ?? '')}</bdi>`,
    content: template.paragraphs
      .map((paragraph) => composeParagraph(paragraph, values, accent))
      .join('\n'),
    test: isTest
      ? `<p dir="ltr" style="margin:0 0 16px;padding:8px 12px;background:#fff4ce;color:#5c4400;border-radius:6px;font-weight:600">${testText}</p>`
      : '',
  });
}

function composeParagraph(paragraph: Paragraph, values: Placeholders, accent: string): string {
  if (paragraph.kind === 'link') {
    const link = escapeHtml(values['receipt_link'] ?? '');
    return `<p style="margin:24px 0"><a href="${link}" style="display:inline-block;padding:12px 20px;border-radius:6px;background:${accent};color:#ffffff;font-weight:600;text-decoration:none">${escapeHtml(paragraph.label)}</a></p>`;
  }
  if (paragraph.kind === 'code') {
    const code = escapeHtml(values['pickup_code'] ?? '');
    return `<p dir="ltr" style="margin:24px 0;padding:16px;border:2px solid ${accent};border-radius:6px;text-align:center;font-family:Consolas,Menlo,monospace;font-size:24px;font-weight:700;letter-spacing:2px">${code}</p>`;
  }
  const text = fill(
    escapeHtml(paragraph.text),
    values,
    (value) => `<bdi>${escapeHtml(value)}</bdi>`,
  ).replaceAll('\n', '<br>');
  return `<p style="margin:0 0 16px">${text}</p>`;
}

function escapeHtml(text: string): string {
  return escapeMarkup(text).replaceAll("'", '&#39;');
}
