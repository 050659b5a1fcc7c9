import { readText, type Step } from './steps.ts';

/** A recipient who asks to be forgotten. */
export const erasureSteps: Step[] = [
  {
    operationId: 'createUser',
    summary: 'A recipient who leaves',
    request: () => ({
      body: {
        internal_user_id: 'customer-2077',
        country: 'MEX',
        first_name: 'Iris',
        last_name: 'Campos',
        email: 'iris.campos@example.com',
      },
    }),
    keep: (body) => ({ 'leaving user_token': readText(body, 'user_token') }),
  },
  {
    operationId: 'eraseUser',
    summary: 'A recipient without payouts in flight',
    request: (known) => ({ params: { user_token: known['leaving user_token'] ?? '' } }),
  },
  {
    operationId: 'getUser',
    summary: 'After an erasure',
    status: 410,
    request: (known) => ({ params: { user_token: known['leaving user_token'] ?? '' } }),
  },
];
