import type { ReceiptData } from '../../src/receipts/receipt.ts';

/** The data of a completed bank deposit, with changes. */
export function receiptOf(changes: Partial<ReceiptData> = {}): ReceiptData {
  return { ...ordinary, ...changes };
}

const ordinary: ReceiptData = {
  environment: 'staging',
  payoutToken: 'payout_019292aa-1c6e-7a6e-b0de-0c4f7e9d2a11',
  clientTransferId: 'INV-2026-000417',
  status: 'COMPLETED',
  statusReason: '',
  senderName: 'Demo',
  brand: { color: '', logo: '' },
  recipientName: 'María Núñez',
  recipientAddressLines: ['Av. Insurgentes Sur 1602', '03940 Ciudad de México'],
  internalUserId: 'crew|2231',
  countryName: 'Mexico',
  deliveryType: 'BANK_DEPOSIT',
  payerName: 'Banco de Prueba',
  destination: [{ label: 'Account number (CLABE)', value: '****7891' }],
  sourceAmount: '1250',
  fee: '3.5',
  totalDebited: '1253.5',
  refundAmount: '',
  destinationAmount: '23181.25',
  returnedAmount: '',
  exchangeRate: '18.545',
  midRate: '18.6',
  margin: '0.002957',
  sourceCurrency: 'USD',
  destinationCurrency: 'MXN',
  createdOn: '2026-11-19T14:02:11',
  committedOn: '2026-11-19T14:03:40',
  completedOn: '2026-11-19T14:05:02',
  canceledOn: '',
  expiresOn: '2026-11-19T14:17:11Z',
  estimatedAvailability: '2026-11-19T15:00:00Z',
  pickupCode: '',
  network: '',
  railReference: '',
  transactionHash: '',
  issuedOn: '2026-11-20T07:00:00Z',
};
