declare module 'spdx-satisfies' {
  /** Whether the approved licenses allow the use of what has this SPDX expression as its license. */
  const satisfies: (expression: string, approved: readonly string[]) => boolean;
  export = satisfies;
}
