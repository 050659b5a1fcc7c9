import type { ErrorCode, Fault } from '../../core/errors.ts';

/** What the page of a code shows. Texts are trusted HTML-free prose with `code` in back quotes. */
export type CodeText = {
  cause: string;
  remedy: string;
  example: string | Omit<Fault, 'code'> | { column: string; detail: string };
};

/** Problems: the code of a whole answer. An example is a detail, or the only fault. */
export const problemTexts: Readonly<Record<ErrorCode, CodeText>> = {
  invalid_request: {
    cause: 'Several values in the body, the parameters or the headers are not valid.',
    remedy:
      '`errors` lists every fault: correct all of them and send the request again. With exactly one fault, `code` is the code of that fault instead.',
    example: 'internal_user_id is required (and 1 more)',
  },
  unknown_parameter: {
    cause:
      'The query has a parameter that this operation does not have. It is refused because ignoring a filter would return more than you asked for.',
    remedy: 'Remove or correct it: `errors` names each one, and `detail` lists the allowed ones.',
    example: {
      parameter: 'client_transfr_id',
      detail: 'client_transfr_id is not a query parameter of this operation, which allows cursor',
    },
  },
  dry_run_unsupported: {
    cause:
      'The request has `Prefer: dry-run`, but this operation has no dry run. Nothing was done: the request without the preference would have had its effect.',
    remedy:
      'Dry runs exist for creating and committing a payout and for committing a batch. Leave the preference out of other requests.',
    example: {
      parameter: 'Prefer',
      detail: 'POST /user has no dry run',
    },
  },
  malformed_json: {
    cause:
      'The body is not JSON, or JSON that cannot be stored exactly: a repeated key, a number beyond the allowed range, more than 32 levels of nesting, or bytes that are not UTF-8.',
    remedy: 'Write the body with a JSON library, and send it in UTF-8.',
    example: { pointer: '/metadata', detail: 'The member metadata occurs twice' },
  },
  malformed_http: {
    cause: 'The request violates HTTP, for example by a missing Host or a wrong Content-Length.',
    remedy: 'Check your HTTP client and any proxy in between.',
    example: 'A request must have exactly one Host header',
  },
  source_and_destination_exclusive: {
    cause: 'A payout request has both `source_token` and `destination_token`.',
    remedy:
      'Leave out one of them. The operator can allow an account to send both while it migrates.',
    example: { pointer: '/source_token', detail: 'source_token excludes destination_token' },
  },
  unauthorized: {
    cause: 'The bearer credential is missing, unknown, expired or revoked.',
    remedy:
      'Get a new access token, and check that the credential belongs to this environment and may be used from your address.',
    example: 'Authorization must be Bearer with a valid access token or API key',
  },
  login_failed: {
    cause:
      'The name, password, code, key or link is wrong, was used before, or has expired. The answer does not say which.',
    remedy:
      'Try again with the current code of your authenticator. Another owner can create a new link for you: `outlay admin operator invite NAME`.',
    example: 'The login failed. Check the name, the password and the code',
  },
  insufficient_scope: {
    cause: 'The credential is valid, but lacks the scope that this operation needs.',
    remedy: 'Use another credential or ask the operator for the scope that `detail` names.',
    example: 'The credential must have the scope payouts:commit',
  },
  role_not_permitted: {
    cause: 'You are an operator, but your role does not permit this operation.',
    remedy: 'Ask an operator whose role permits it; `detail` lists the roles.',
    example: 'account fund needs one of the roles owner, operator, approver; vic is viewer',
  },
  second_factor_required: {
    cause: 'Live admits only operators with a second factor, and you have set up none.',
    remedy: 'Set up a password and an authenticator in the console, then log in with both.',
    example: 'Set up a second factor first, and log in with it',
  },
  cross_site_request: {
    cause:
      'A request with the cookie of a session lacks a valid `Outlay-CSRF` header, or a browser sent it from another site.',
    remedy:
      'Send the `csrf` of GET /console/session in the header `Outlay-CSRF`. Programs use an operator’s key instead of a session.',
    example: 'The header Outlay-CSRF must be the csrf of GET /console/session',
  },
  not_found: {
    cause: 'The resource does not exist, or belongs to another account.',
    remedy: 'Check the path, the token and the environment.',
    example: 'No such resource',
  },
  unknown_version: {
    cause: 'The first segment of the path is not a version of this API.',
    remedy: 'Use one of the versions that `detail` names.',
    example: 'The version must be one of v0.1.0, v0.1.1, v0.1.2, v0.1.3, v0.1.4',
  },
  method_not_allowed: {
    cause: 'The resource does not support this method.',
    remedy: 'Use one of the methods in the `Allow` header.',
    example: 'This resource allows GET, HEAD',
  },
  not_acceptable: {
    cause: 'The `Accept` header excludes every media type of this response.',
    remedy: 'Send `application/json` or leave the header out.',
    example: 'Accept must allow application/json',
  },
  request_timeout: {
    cause: 'The request arrived too slowly, and the connection was closed.',
    remedy: 'Send it again, with the same Idempotency-Key.',
    example: 'The request arrived too slowly',
  },
  user_exists: {
    cause: 'The account already has a user with this `internal_user_id` or `email`.',
    remedy: 'Find the user by `GET /user/lookup` and use its token.',
    example: { pointer: '/email', detail: 'email already belongs to another user of the account' },
  },
  user_not_active: {
    cause: 'The user is locked: the operator has frozen payouts to this recipient.',
    remedy: 'Ask the operator why, and repeat the request once the user is ACTIVE.',
    example: 'the user is locked',
  },
  duplicate_transfer: {
    cause:
      'A payout with this `client_transfer_id` was already committed; `payout_token` names it.',
    remedy:
      'If this is the same transfer, you are done: follow that payout. If not, use another `client_transfer_id`.',
    example: 'client_transfer_id was already committed',
  },
  idempotency_in_progress: {
    cause: 'An earlier request with this Idempotency-Key has no answer yet.',
    remedy: 'Repeat the same request after the time in `Retry-After` to get its answer.',
    example: 'The first request with this Idempotency-Key is still in progress',
  },
  illegal_move: {
    cause:
      'The resource is in a state in which this is not possible: a rejected payout cannot be completed, for example.',
    remedy: 'Read the resource and decide by its present state.',
    example: 'A CANCELLED payout cannot become COMPLETED',
  },
  payout_changed: {
    cause:
      'An operator decided about a payout as it was when the page or the command showed it (`payout_version`). Since then its state, its last attempt or its exceptions have changed.',
    remedy: 'Look at the payout again, and decide about what you see then.',
    example:
      'The payout has changed since you looked at it, so that the decision was not recorded: look again, and decide about what you see then',
  },
  own_payout: {
    cause: 'The operator who approves the payout has created or committed it.',
    remedy: 'Ask another operator who may decide about payouts.',
    example: 'The operator who created or committed a payout cannot approve it',
  },
  budget_exceeded: {
    cause:
      'The budget of the credential that proposed the payout does not allow it: its amount, the amount of the day (UTC), the number of open proposals, or the currency. `limit` names which one.',
    remedy:
      'Wait until open proposals are decided or the day has ended, propose less, or ask the operator for another budget. A person can commit the payout without a proposal.',
    example: 'The budget allows 500 USD per proposal; this one debits 612.5 USD',
  },
  proposal_ended: {
    cause: 'A person has declined the proposal, or its quote has expired.',
    remedy:
      'After a decline ask the person first. After an expiry create and propose a new payout.',
    example: 'The proposal is DECLINED',
  },
  proposal_refused: {
    cause:
      'An obstacle prevents the commit of the payout, so there is nothing to confirm. `obstacle` is its code.',
    remedy: 'Remove the obstacle as its page says, then propose the payout again.',
    example: 'required attributes of the destination are missing: CLABE',
  },
  terms_changed: {
    cause:
      'The attribute values or the data of the recipient changed after the proposal: it would not pay what was proposed.',
    remedy: 'Check the recipient, then create and propose a new payout.',
    example: 'The recipient changed after the proposal',
  },
  clock_backwards: {
    cause:
      'The time in the request is before the present time of the sandbox, whose clock only moves forward.',
    remedy: 'Use a time after the present one, which `GET /sandbox/clock` answers.',
    example: 'The clock cannot be set back',
  },
  events_dropped: {
    cause:
      'The events after `after` are older than the retention period and were deleted, or `after` is an ' +
      'event that was lost when the database was restored to an earlier moment.',
    remedy:
      'Read the present state of your resources, and continue with the `after` given in `errors`.',
    example: {
      parameter: 'after',
      detail: 'after must be at least 1200: older events are no longer kept',
    },
  },
  legal_hold: {
    cause: 'The data of this user must be kept until a date, which `detail` names.',
    remedy:
      'Repeat the request after that date, or ask the operator of the service about the hold.',
    example: 'A legal hold keeps the data of this user until 2027-03-01T00:00:00Z',
  },
  payouts_open: {
    cause: 'A payout to this user has not ended, and its rail still needs the data.',
    remedy: 'Repeat the request when all payouts of the user are COMPLETED or CANCELLED.',
    example: 'Payouts to this user have not ended',
  },
  user_erased: {
    cause:
      'Names, details and images of this user were erased and can no longer be read. The payouts are kept.',
    remedy:
      'If the request repeats an earlier one with its Idempotency-Key, the first one took effect: do not repeat it with another key.',
    example: 'The data of the user was erased',
  },
  body_too_large: {
    cause: 'The body, or an image in it, exceeds the limit of this operation.',
    remedy: 'Send less: split a batch into several files, or scale the image down.',
    example: 'The body is too large',
  },
  uri_too_long: {
    cause: 'The URL with its query is longer than the service accepts.',
    remedy: 'Shorten the query.',
    example: 'The URL is too long',
  },
  unsupported_media_type: {
    cause:
      'The `Content-Type` is not supported by this operation, or the body is compressed or not UTF-8.',
    remedy: 'Send one of the types that `detail` names, without Content-Encoding.',
    example: 'Content-Type must be application/json, in UTF-8',
  },
  expectation_failed: {
    cause: 'The request has an `Expect` header with a value other than `100-continue`.',
    remedy: 'Leave the header out.',
    example: 'Expect must be 100-continue',
  },
  idempotency_key_reused: {
    cause: 'This Idempotency-Key was already used with another method, path or body.',
    remedy: 'Use a new key for every new operation, and the old one only to repeat it unchanged.',
    example: 'The Idempotency-Key was used for another request',
  },
  open_quotes_exceeded: {
    cause:
      'The account has reached its limit of open quotes, or of their total value. A quote is open until it is committed or has expired; a quoted batch counts as one quote with the value of its valid rows. Nothing was stored.',
    remedy:
      'Commit quotes or let them expire: `Retry-After` is the time until the next ones do. Quote when the payout is about to be made. The operator can raise the limits of the account.',
    example: 'The account may have at most 10000 open quotes and has 10000',
  },
  rate_limited: {
    cause:
      'Requests or login attempts arrive faster than their limit allows. Limits apply to a credential and to an address.',
    remedy: 'Wait for the time in `Retry-After`, then send more slowly.',
    example: 'Too many requests',
  },
  header_too_large: {
    cause: 'The request header exceeds the size limit of 16 KiB.',
    remedy: 'Send fewer or shorter headers; look for cookies that you do not need.',
    example: 'The request header is too large',
  },
  internal_error: {
    cause: 'An error in the service. Whether the request took effect is unknown.',
    remedy:
      'Repeat the request with the same Idempotency-Key to find out whether it took effect. Quote `request_id` when you report the error.',
    example: 'The request failed. Quote request_id when you report it.',
  },
  rates_unavailable: {
    cause:
      'The exchange rate of one of the two currencies is too old for a quote. Nothing was changed.',
    remedy: 'Retry after the time in `Retry-After`.',
    example: 'No recent exchange rate for MXN',
  },
  recovering: {
    cause:
      'The database was restored to an earlier state. Commits are refused until the operator has matched the payments made since then and two people have released the recovery.',
    remedy:
      'Repeat the commit later with the same `client_transfer_id` and Idempotency-Key. Do not quote the transfer anew under another identifier.',
    example: 'Commits are refused until the recovery is released',
  },
  unavailable: {
    cause:
      'The service is starting, stopping or overloaded, or its database does not answer. The request may have taken effect.',
    remedy: 'Repeat it after the time in `Retry-After`, with the same Idempotency-Key.',
    example: 'The service is stopping',
  },
};
