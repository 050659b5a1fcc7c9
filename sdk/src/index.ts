export type { Credential } from './access.ts';
export {
  type ApiRequest,
  type Client,
  type ClientOptions,
  createClient,
  type Query,
  type Version,
} from './client.ts';
export { Decimal, decimal } from './decimal.ts';
export {
  AuthenticationError,
  ConflictError,
  ConnectionError,
  type Fault,
  InvalidRequestError,
  NotFoundError,
  OutlayError,
  PermissionError,
  type Problem,
  ProblemError,
  RateLimitError,
  ServiceError,
  TimeoutError,
  UnexpectedAnswerError,
} from './errors.ts';
export {
  type Apply,
  applyOnce,
  type Event,
  EventGapError,
  type EventStore,
  type FollowOptions,
  findLastSequence,
  followEvents,
  type TailOptions,
  tailEvents,
} from './events.ts';
export { writeJson } from './exact-json.ts';
export type { components } from './generated/api.ts';
export type { AnswerOf, ArgumentsOf, CallOptions, Pages } from './methods.ts';
export {
  downloadReceipt,
  type Obstacle,
  type Payout,
  type PayoutAddress,
  type PayoutSubject,
  type Readiness,
  readReadiness,
  type WaitOptions,
  watchPayout,
  watchReadiness,
} from './payouts.ts';
export type { RetryPolicy } from './retry.ts';
export type { Fetch, HttpAnswer } from './transport.ts';
export {
  verifyWebhook,
  type WebhookHeaders,
  type WebhookMessage,
  type WebhookOptions,
  type WebhookRequest,
  WebhookVerificationError,
} from './webhooks.ts';
