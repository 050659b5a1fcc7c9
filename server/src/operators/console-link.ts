/** Browsers send no fragment, so that the token gets into no log. */
export function formatConsoleLink(baseUrl: string, token: string): string {
  return `${baseUrl}/console#link=${token}`;
}
