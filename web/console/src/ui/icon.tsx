import type { ReactNode } from 'react';

/** Line icons on a grid of 16, drawn for this console. Always beside a text or a label. */
const paths = {
  overview: 'M2.5 13.5v-5m3.7 5v-8m3.7 8v-6m3.6 6V2.5',
  payout: 'M2 8h11m-4-4.5L13.5 8 9 12.5',
  recipients: 'M8 7.5a2.7 2.7 0 1 0 0-5.4 2.7 2.7 0 0 0 0 5.4ZM2.8 14a5.2 5.2 0 0 1 10.4 0',
  plus: 'M8 3v10M3 8h10',
  batch: 'M2.5 4.5h11m-11 3.5h11m-11 3.5h7',
  alert: 'M8 2.2 14.4 13.4H1.6L8 2.2Zm0 4.3v3.2m0 1.9v.1',
  check: 'm3 8.5 3.2 3.2L13 4.8',
  checkCircle: 'M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4Zm-2.7-6 2 2 3.6-4',
  clock: 'M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4ZM8 4.6V8l2.4 1.6',
  pause: 'M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4ZM6.5 6v4m3-4v4',
  close: 'm4 4 8 8m0-8-8 8',
  cancel: 'M8 14.2A6.2 6.2 0 1 0 8 1.8a6.2 6.2 0 0 0 0 12.4ZM3.8 3.8l8.4 8.4',
  quote: 'M8 14.2A6.2 6.2 0 1 0 8 1.8M8 1.8a6.2 6.2 0 0 0-6.2 6.2',
  search: 'M7 11.8A4.8 4.8 0 1 0 7 2.2a4.8 4.8 0 0 0 0 9.6Zm3.5-1.3 3.3 3.3',
  menu: 'M2.5 4.5h11m-11 3.5h11m-11 3.5h11',
  sun: 'M8 10.8a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6ZM8 1.2v1.6m0 10.4v1.6M1.2 8h1.6m10.4 0h1.6M3.2 3.2l1.1 1.1m7.4 7.4 1.1 1.1m0-9.6-1.1 1.1m-7.4 7.4-1.1 1.1',
  moon: 'M13.6 9.6A6 6 0 0 1 6.4 2.4a6 6 0 1 0 7.2 7.2Z',
  leave: 'M6.5 2.5h-4v11h4m3-8.5L13 8l-3.5 3M13 8H6',
  copy: 'M5.5 5.5h8v8h-8v-8Zm-3 5v-8h8',
  chevron: 'm4.5 6.2 3.5 3.5 3.5-3.5',
  back: 'M9.8 3.5 5.2 8l4.6 4.5',
  download: 'M8 2v8m-3.2-3L8 10.2 11.2 7M2.5 13.5h11',
  flask: 'M6 2h4m-3.3 0v4.4L3 13a.8.8 0 0 0 .7 1.2h8.6A.8.8 0 0 0 13 13L9.3 6.4V2M4.8 10h6.4',
  rail: 'M2 4.5h12M2 11.5h12M4.5 2.5v11m7-11v11',
  approve:
    'M8 1.8 13.5 4v4c0 3.3-2.3 5.3-5.5 6.2C4.800 13.300 2.500 11.300 2.500 8V4L8 1.8Zm-2.300 6 1.700 1.700 3-3.200',
  audit: 'M4 1.800h6l2.500 2.500v9.900H4V1.800Zm2.200 5h4m-4 3h4',
  webhook:
    'M5 6.500a2.800 2.800 0 1 1 4.400-1.700M11 8.800a2.700 2.700 0 1 1-2.200 4.400M4.600 8.500a2.700 2.700 0 1 0 2.900 3.300h4.200M6.400 5.500 4.400 9m3-4.500 3.200 5.200',
  globe:
    'M8 14.200A6.200 6.200 0 1 0 8 1.800a6.200 6.200 0 0 0 0 12.400ZM2 8h12M8 1.800c2 2 2.600 4 2.600 6.200S10 12.200 8 14.200C6 12.200 5.400 10.200 5.400 8S6 3.800 8 1.800Z',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }): ReactNode {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  );
}
