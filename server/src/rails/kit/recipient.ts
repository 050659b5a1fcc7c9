import type { Beneficiary } from '../contract/instruction.ts';

/** A beneficiary of whom nothing is known. */
export const emptyBeneficiary: Beneficiary = {
  firstName: '',
  middleName: '',
  lastName: '',
  businessName: '',
  address1: '',
  address2: '',
  city: '',
  stateProvince: '',
  postalCode: '',
  countryCode: '',
  email: '',
  mobileNumber: '',
  dateOfBirth: '',
};
