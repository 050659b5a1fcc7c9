import type { ReactNode } from 'react';
import type { Schemas } from '../api/client.ts';
import { formatRate } from '../format/amount.ts';

type Price = Schemas['ProviderPrice'];

/** What the payer's provider asked, where it quotes prices. */
export function ProviderPrice({ price }: { price: Price | null }): ReactNode {
  if (price === null) return null;
  const fee = price.fee === '' ? 'no price' : `${price.fee} ${price.source_currency}`;
  return (
    <span className="small faint">
      provider {fee} at {formatRate(price.exchange_rate)}, {price.age_seconds} s old
    </span>
  );
}
