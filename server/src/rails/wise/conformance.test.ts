import { testConformance } from '../../../testing/conformance/conformance.ts';
import { describeWise } from '../../../testing/setups/wise-conformance.ts';

testConformance(describeWise(/^POST \/v3\/profiles\/\d+\/transfers\/\d+\/payments/));
