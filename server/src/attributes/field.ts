import type { FaultCode } from '../core/errors.ts';

/**
 * The building blocks of requirement profiles. A field is the description of an attribute for
 * clients (a requirement) together with the checks that no pattern can express.
 */

/** Every attribute type of the API. */
export const attributeTypes = [
  'CardNumber',
  'BankAccountType',
  'BankAccountNumber',
  'BankAccountBranchNumber',
  'BankName',
  'PhoneNumber',
  'Gender',
  'IdentificationNumber',
  'BillReferenceNumber',
  'BankRoutingNumber',
  'BankAccountName',
  'MaidenName',
  'SocialSecurity',
  'EmploymentName',
  'EmploymentAddress',
  'EmploymentPhone',
  'EmploymentOccupation',
  'EmploymentSupervisor',
  'RemittanceReason',
  'Relationship',
  'SecondLastName',
  'SWIFT',
  'BirthCountry',
  'SourceOfFunds',
  'DateOfBirth',
  'CardExpiration',
  'CardZip',
  'IdentificationType',
  'BankCity',
  'BankState',
  'IDSelfieCollection',
  'City',
  'Country',
  'IdentificationExpiration',
  'Address1',
  'PostalCode',
] as const;
export type AttributeType = (typeof attributeTypes)[number];

export type InputType = 'text' | 'options' | 'date';

/**
 * One of the ways to complete a group. Of a group of attributes one option must be complete, and the
 * attributes of the others may be left out.
 */
export type Option = {
  readonly group: string;
  readonly name: string;
  readonly label: string;
};

/** An attribute's part in an option: there its value has this form, where that is narrower. */
export type Alternative = Option & { readonly validation: string };

/** The description of an attribute for clients. The whole value must match `validation`. */
export type Requirement = {
  readonly type: AttributeType;
  readonly label: string;
  readonly validation: string;
  readonly isOptional: boolean;
  readonly expectedValue: string;
  readonly inputType: InputType;
  readonly isReadOnly: boolean;
  /** The options that need the attribute; none: it is required or optional by itself. */
  readonly alternatives: readonly Alternative[];
};

export type Problem = { readonly code: FaultCode; readonly detail: string };

/** The country of the destination, all values of the set, and the date (`YYYY-MM-DD`). */
export type CheckContext = {
  readonly countryCode: string;
  readonly values: ReadonlyMap<AttributeType, string>;
  readonly today: string;
};

/** Checks a value that matches the pattern. */
export type Check = (value: string, context: CheckContext) => Problem | undefined;

export type Field = {
  readonly requirement: Requirement;
  readonly check: Check | undefined;
  /** Whether a value that matches the form of an option, named here, belongs to that option. */
  readonly belongs: Belonging | undefined;
  /** The canonical form of a value. */
  readonly normalize: ((value: string) => string) | undefined;
  /** Whether an optional field is required beside these values. */
  readonly isDemanded?: (values: ReadonlyMap<AttributeType, string>) => boolean;
  /** How sample values begin if their first characters are not free, such as an existing bank. */
  readonly sampleStart: string;
};

type Belonging = (option: string, values: ReadonlyMap<AttributeType, string>) => boolean;

export type FieldOptions = {
  readonly type: AttributeType;
  readonly label: string;
  /** Exactly one of these: a number or range of digits, a pattern, choices, a date. */
  readonly digits?: number | readonly [minimum: number, maximum: number];
  readonly pattern?: string;
  readonly choices?: Choices;
  readonly isDate?: boolean;
  readonly hint?: string;
  readonly isOptional?: boolean;
  readonly check?: Check;
  /** The options that need the field; patterns without anchors, absent for that of the field. */
  readonly options?: readonly (Option & { readonly pattern?: string })[];
  readonly belongs?: Belonging;
  readonly normalize?: (value: string) => string;
  readonly sampleStart?: string;
};

/** The values of a choice with their meanings; empty if the value explains itself. */
export type Choices = Readonly<Record<string, string>>;

const datePattern = '[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])';

function describeForm(options: FieldOptions): Pick<Requirement, 'validation' | 'expectedValue'> {
  const { digits, pattern, choices, isDate, hint } = options;
  if (choices !== undefined) {
    const names = Object.entries(choices).map(([value, meaning]) =>
      meaning === '' ? value : `${value} (${meaning})`,
    );
    // Without anchors, so that a client can split it into the choices.
    return {
      validation: Object.keys(choices).join('|'),
      expectedValue: `One of: ${names.join(', ')}`,
    };
  }
  if (isDate === true) {
    return { validation: `^${datePattern}$`, expectedValue: hint ?? 'A date: YYYY-MM-DD' };
  }
  if (digits !== undefined) {
    const [minimum, maximum] = typeof digits === 'number' ? [digits, digits] : digits;
    const range = minimum === maximum ? `${minimum}` : `${minimum},${maximum}`;
    const sentence = minimum === maximum ? `${minimum} digits` : `${minimum} to ${maximum} digits`;
    return {
      validation: `^[0-9]{${range}}$`,
      expectedValue: hint === undefined ? sentence : `${sentence}: ${hint}`,
    };
  }
  return { validation: anchor(pattern ?? ''), expectedValue: hint ?? options.label };
}

function anchor(pattern: string): string {
  return pattern.includes('|') ? `^(?:${pattern})$` : `^${pattern}$`;
}

/** Creates a field; patterns are given without anchors. */
export function field(options: FieldOptions): Field {
  const { choices, isDate } = options;
  const form = describeForm(options);
  return {
    requirement: {
      type: options.type,
      label: options.label,
      ...form,
      isOptional: options.isOptional ?? false,
      inputType: choices !== undefined ? 'options' : isDate === true ? 'date' : 'text',
      isReadOnly: false,
      alternatives: (options.options ?? []).map(({ pattern, ...option }) => ({
        ...option,
        validation: pattern === undefined ? form.validation : anchor(pattern),
      })),
    },
    check: options.check,
    belongs: options.belongs,
    normalize: options.normalize,
    sampleStart: options.sampleStart ?? '',
  };
}

type Named = Omit<FieldOptions, 'type' | 'label'> & { readonly label?: string };

/** The account number, whatever the country calls it. */
export function account(options: Named): Field {
  return field({ label: 'Account number', ...options, type: 'BankAccountNumber' });
}

/** The code of a bank, or of a bank and its branch. */
export function routing(options: Named): Field {
  return field({ label: 'Bank code', ...options, type: 'BankRoutingNumber' });
}

export function branch(options: Named): Field {
  return field({ label: 'Branch code', ...options, type: 'BankAccountBranchNumber' });
}

export function identification(options: Named): Field {
  return field({
    label: 'Identification number',
    ...options,
    type: 'IdentificationNumber',
  });
}

/** No control characters, no space at either end. Equal in JavaScript and RE2. */
export function freeText(lengthMax: number): string {
  const inner = '[^\\x00-\\x1f\\x7f]';
  const edge = '[^\\x00-\\x20\\x7f]';
  return `${edge}(?:${inner}{0,${lengthMax - 2}}${edge})?`;
}

/** Text such as a name or an address, in any script. */
export function words(
  options: Pick<FieldOptions, 'type' | 'label' | 'isOptional' | 'hint'> & {
    readonly lengthMax?: number;
  },
): Field {
  return field({ ...options, pattern: freeText(options.lengthMax ?? 100) });
}

export const accountTypes: Choices = { CHECKING: '', SAVINGS: '' };

export function accountType(choices: Choices = accountTypes): Field {
  return field({ type: 'BankAccountType', label: 'Account type', choices });
}

export const bankName: Field = words({
  type: 'BankName',
  label: 'Bank name',
  hint: 'The name of the bank, as on an account statement',
});

/** Hyphens between groups of digits have no meaning. */
export function dropHyphens(value: string): string {
  return value.replaceAll('-', '');
}

/** The same field, optional. */
export function optional(base: Field): Field {
  return { ...base, requirement: { ...base.requirement, isOptional: true } };
}
