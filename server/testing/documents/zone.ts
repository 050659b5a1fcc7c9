/** The lines of machine-readable zones for invented people, with check digits (ICAO 9303-3, 4.9). */

export type Person = {
  readonly documentNumber: string;
  readonly issuingState: string;
  readonly nationality: string;
  readonly surname: string;
  readonly givenNames: string;
  /** YYMMDD, as on the document. */
  readonly birthDate: string;
  readonly sex: 'M' | 'F' | '<';
  readonly expiryDate: string;
};

export const specimen: Person = {
  documentNumber: 'L898902C3',
  issuingState: 'UTO',
  nationality: 'UTO',
  surname: 'ERIKSSON',
  givenNames: 'ANNA<MARIA',
  birthDate: '740812',
  sex: 'F',
  expiryDate: '340415',
};

/** Weights 7, 3, 1; letters count from A = 10, the filler 0. */
export function checkDigit(text: string): string {
  const weights = [7, 3, 1];
  const sum = Array.from(text).reduce((total, character, index) => {
    const value = character === '<' ? 0 : Number.parseInt(character, 36);
    return total + value * (weights[index % 3] ?? 0);
  }, 0);
  return String(sum % 10);
}

const pad = (text: string, length: number): string => text.padEnd(length, '<').slice(0, length);
const checked = (text: string): string => text + checkDigit(text);

export type ZoneFormat = 'TD1' | 'TD2' | 'TD3';

export function writeZone(format: ZoneFormat, person: Person): string[] {
  const { issuingState: state, nationality, sex } = person;
  const number = checked(pad(person.documentNumber, 9));
  const [birth, expiry] = [checked(person.birthDate), checked(person.expiryDate)];
  const names = `${person.surname}<<${person.givenNames}`;
  if (format === 'TD1') {
    const first = pad(`I<${state}${number}`, 30);
    const second = `${birth}${sex}${expiry}${pad(nationality, 3)}${pad('', 11)}`;
    const composite = checkDigit(`${first.slice(5)}${birth}${expiry}${pad('', 11)}`);
    return [first, second + composite, pad(names, 30)];
  }
  const optional = format === 'TD2' ? pad('', 7) : checked(pad('ZE184226B', 14));
  const second = `${number}${pad(nationality, 3)}${birth}${sex}${expiry}${optional}`;
  const composite = checkDigit(`${number}${birth}${expiry}${optional}`);
  const length = format === 'TD2' ? 36 : 44;
  return [pad(`${format === 'TD2' ? 'I' : 'P'}<${state}${names}`, length), second + composite];
}
