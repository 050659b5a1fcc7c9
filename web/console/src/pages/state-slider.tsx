import { type ReactNode, useEffect, useState } from 'react';
import { Label } from 'react-aria-components/Label';
import { Slider, SliderOutput, SliderThumb, SliderTrack } from 'react-aria-components/Slider';
import type { Payout } from '../api/client.ts';
import type { PayoutEvent } from '../api/payout-queries.ts';
import { formatTimeSeconds } from '../format/time.ts';
import { describeStatus } from '../format/words.ts';

type SliderProps = {
  latest: Payout;
  events: readonly PayoutEvent[];
  onPast: (payout: Payout | undefined) => void;
};

/** Shows the payout as it was at each of its states: each event holds it as it was then. */
export function StateSlider({ latest, events, onPast }: SliderProps): ReactNode {
  const last = events.length - 1;
  const [chosen, setChosen] = useState<number | undefined>();
  // A new state, or another payout, is shown as it is now.
  useEffect(() => {
    setChosen(undefined);
    onPast(undefined);
  }, [latest.payout_token, latest.timeline.length, onPast]);
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
