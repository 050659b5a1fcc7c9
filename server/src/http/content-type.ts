const typePattern = /^[a-z]+\/[a-z0-9.+-]+$/;

/**
 * The media type of a body in UTF-8, in lower case; undefined for another charset or another form.
 * Other parameters mean nothing to the operations, and are ignored (RFC 2045 5).
 */
export function readMediaType(contentType: string | undefined): string | undefined {
  const parts = (contentType ?? '').toLowerCase().split(';');
  const [type = '', ...parameters] = parts.map((part) => part.trim());
  const charsets = parameters.filter((parameter) => /^charset\b/.test(parameter));
  const isUtf8 = charsets.every((charset) => /^charset="?utf-?8"?$/.test(charset));
  return isUtf8 && typePattern.test(type) ? type : undefined;
}
