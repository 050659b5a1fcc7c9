/** Whether a text is an address with https, without a user name and without white space. */
export function isHttpsUrl(text: string): boolean {
  if (!/^https:\/\/[^\s/?#@\p{C}][^\s\p{C}]*$/u.test(text) || !URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return protocol === 'https:' && username === '' && password === '';
}
