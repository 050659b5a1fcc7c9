import { useNowMs } from '../ui/use-now.ts';
import { useOperator } from './operator.ts';

/**
 * The time of the service, each second; undefined until it has told it. In staging its clock can be ahead of
 * the one of this device.
 */
export function useServiceNowMs(): number | undefined {
  const { data, dataUpdatedAt } = useOperator<{ now: string }>('status');
  const nowMs = useNowMs();
  return data === undefined ? undefined : Date.parse(data.now) + (nowMs - dataUpdatedAt);
}
