/** The partner breaks a rule. */
export class Violation extends Error {}
/** A rule cannot be checked. */
export class Skip extends Error {}
