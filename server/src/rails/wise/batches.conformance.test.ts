import { testConformance } from '../../../testing/conformance/conformance.ts';
import { describeWise } from '../../../testing/setups/wise-conformance.ts';

/** The same suite with batch groups, which are made, filled and funded by passes. */
testConformance({
  ...describeWise(/^POST \/v3\/profiles\/\d+\/batch-payments\//, {
    batchGroups: { waitSeconds: 0 },
    pollSeconds: 0.1,
  }),
  isVariant: true,
});
