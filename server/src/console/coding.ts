/** Whether a client takes the coding; `q=0` says that it does not (RFC 9110, section 12.5.3). */
export function accepts(header: string, coding: string): boolean {
  const wanted = header.split(',').map((part) => part.replaceAll(' ', '').toLowerCase());
  return wanted.some((part) => {
    const [name, weight = 'q=1'] = part.split(';');
    return name === coding && !/^q=0(?:\.0*)?$/.test(weight);
  });
}
