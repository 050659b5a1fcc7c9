/** What the page of the sign-in says about the product, beside the form. */
export const pitch = {
  headline: 'Every payout, from quote to proof.',
  lead: 'Balances, routes, attempts and decisions in one place, exact to the last digit.',
  foot: 'Open source payout orchestration',
};
