export { type ApprovalHold, holdForApproval, isWaitingForApproval } from './approval-hold.sql.ts';

/** `status_reason` of a payout that persons have to approve, and of one that they did not. */
export const waitsForApproval = 'waits for approval';
export const notApproved = 'not approved in time';
