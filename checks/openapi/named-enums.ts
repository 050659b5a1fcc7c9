import { attributeTypes } from '../../server/src/attributes/field.ts';
import { missingCodes } from '../../server/src/attributes/missing.ts';
import { batchRefusals } from '../../server/src/batches/batches.ts';
import { codes } from '../../server/src/core/errors.ts';
import { exclusionRules } from '../../server/src/destinations/route-candidate.ts';
import { typeFilters } from '../../server/src/events/type-filters.ts';
import { shownKinds } from '../../server/src/exceptions/decisions.routes.ts';
import { obstacleCodes } from '../../server/src/payouts/obstacles.ts';
import { payoutReasonCodes } from '../../server/src/payouts/payout-reason.ts';
import { payoutStatuses } from '../../server/src/payouts/payout-states.ts';
import { deliveryTypes } from '../../server/src/rails/contract/declarations.ts';
import { deliveryAnswer } from '../../server/src/webhooks/webhooks-view.ts';

/** Enums that stand under a name of their own, so that clients get one type for each. */
export const namedEnums: ReadonlyMap<string, string> = new Map(
  Object.entries({
    AttributeType: attributeTypes,
    BatchRefusal: batchRefusals,
    DeliveryResult: deliveryAnswer.shape.result.options,
    DeliveryType: deliveryTypes,
    EventTypeFilter: typeFilters,
    ExceptionKind: [...shownKinds, 'review'],
    ExclusionRule: ['', ...exclusionRules],
    MissingCode: missingCodes,
    ObstacleCode: obstacleCodes,
    PayoutStatus: payoutStatuses,
    ProblemCode: codes,
    ReasonCode: payoutReasonCodes,
  }).map(([name, values]) => [JSON.stringify(values), name]),
);
