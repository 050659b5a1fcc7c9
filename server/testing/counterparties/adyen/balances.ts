import { getCurrency } from '../../../src/core/currency.ts';
import { formatScaled } from '../../../src/core/money.ts';
import type { AdyenBooks } from './adyen-books.ts';
import { balancePlatform } from './transfer-lifecycle.ts';

/** The funds of the simulated balance account, minor units by currency, and its report. */

export type Balances = Map<string, { balance: number; reserved: number }>;

const firstBalance = 900_000_000_000;
const currencies = ['EUR', 'USD', 'GBP', 'AUD', 'CAD', 'NZD', 'SGD', 'HKD', 'BRL', 'MXN', 'PLN'];

/** From the books, as they are after a start. */
export function countBalances(books: AdyenBooks): Balances {
  const balances = new Map(
    currencies.map((code) => [code, { balance: firstBalance, reserved: 0 }]),
  );
  for (const { order, status, paidCount, returnedValue, isFee } of books.list()) {
    const funds = balances.get(order.amount.currency);
    if (funds === undefined) continue;
    if (status === 'authorised') funds.reserved += order.amount.value;
    if (paidCount > 0 || isFee) funds.balance -= order.amount.value - returnedValue;
  }
  return balances;
}

/** The columns of the Balance Platform Balance Report. */
export function formatBalanceReport(
  {
    balances,
    balanceAccountId,
  }: {
    readonly balances: ReadonlyMap<string, { balance: number }>;
    readonly balanceAccountId: string;
  },
  day: string,
): string {
  const head =
    'Balance Platform,Account Holder,Balance Account,Opening Balance Currency,Opening Balance Amount,' +
    'Opening Date,Opening Time,Closing Balance Currency,Closing Balance Amount,Closing Date,Closing Time';
  const rows = [...balances].map(([code, { balance }]) => {
    const amount = formatScaled(BigInt(balance), getCurrency(code).scale);
    const side = [code, amount, `${day} 00:00:00`, 'CET'];
    const account = [balancePlatform, 'AH00000000000000000000001', balanceAccountId];
    return [account, side, side].flat().join(',');
  });
  return [head, ...rows, ''].join('\r\n');
}
