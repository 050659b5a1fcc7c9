import { queryOptions, useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { Label } from 'react-aria-components/Label';
import { Slider, SliderOutput, SliderThumb, SliderTrack } from 'react-aria-components/Slider';
import type { Api, Payout, Schemas } from '../api/client.ts';
import { useApi } from '../api/context.tsx';
import { formatTimeSeconds } from '../format/time.ts';
import { describeStatus } from '../format/words.ts';

type PayoutEvent = Schemas['PayoutEvent'];

/** Each event holds the payout as it was then, so going back needs no further question. */
export function payoutEventsQuery(api: Api, payout: Payout) {
  return queryOptions({
    queryKey: [api.account, 'payout-events', payout.payout_token, payout.timeline.length],
    queryFn: async () => {
      const events = await api.listEvents({ object: payout.payout_token });
      return events.filter((event): event is PayoutEvent => event.type.startsWith('payout.'));
    },
  });
}

type SliderProps = { latest: Payout; onPast: (payout: Payout | undefined) => void };

/** Shows the payout as it was at each of its states. */
export function StateSlider({ latest, onPast }: SliderProps): ReactNode {
  const { data: events = [] } = useQuery(payoutEventsQuery(useApi(), latest));
  const last = events.length - 1;
  const [chosen, setChosen] = useState<number | undefined>();
  // A new state, or another payout, is shown as it is now.
  useEffect(() => {
    setChosen(undefined);
    onPast(undefined);
  }, [latest.payout_token, latest.timeline.length, onPast]);
  if (last < 1) return null;
  const position = chosen ?? last;
  const event = events[position];
  const move = (value: number | number[]): void => {
    const next = Array.isArray(value) ? (value[0] ?? last) : value;
    setChosen(next === last ? undefined : next);
    onPast(next === last ? undefined : events[next]?.data);
  };
  const words = event === undefined ? '' : describeStatus(event.data.status).label;
  const time = event === undefined ? '' : formatTimeSeconds(event.created_on);
  return (
    <Slider className="panel states" minValue={0} maxValue={last} value={position} onChange={move}>
      <div className="row between">
        <Label className="small faint">
          {position === last ? 'Current state' : 'Earlier state'}
        </Label>
        <SliderOutput className="small num">{() => `${words} · ${time} UTC`}</SliderOutput>
      </div>
      <SliderTrack className="track">
        <span className="fill" style={{ width: `${(position / last) * 100}%` }} />
        {events.map((entry, index) => (
          <span
            key={entry.sequence}
            className="stop"
            style={{ left: `${(index / last) * 100}%` }}
            data-past={index <= position ? true : undefined}
          />
        ))}
        <SliderThumb className="thumb" />
      </SliderTrack>
    </Slider>
  );
}
