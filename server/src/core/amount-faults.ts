import type { Currency } from './currency.ts';
import type { Fault } from './errors.ts';
import { type AmountFault, amountMinorMax, formatAmount } from './money.ts';

/** What is wrong with an amount, in words. */
export function amountFaults(
  name: string,
  fault: AmountFault,
  currency: Currency,
): Pick<Fault, 'code' | 'detail'> {
  switch (fault) {
    case 'amount_not_a_number':
      return { code: fault, detail: `${name} must be a decimal number` };
    case 'amount_not_positive':
      return { code: fault, detail: `${name} must be more than zero` };
    case 'amount_too_precise': {
      const digits = `${currency.scale} fraction digit${currency.scale === 1 ? '' : 's'}`;
      return { code: fault, detail: `${name} has more than the ${digits} of ${currency.code}` };
    }
    case 'amount_too_large': {
      const most = formatAmount(amountMinorMax, currency);
      return { code: fault, detail: `${name} is more than ${most} ${currency.code}` };
    }
  }
}
