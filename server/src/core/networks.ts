/**
 * The chains that money is paid on. The same token exists on several of them, and what is sent on the
 * wrong one is lost, so every surface names the network and every address is checked for it.
 */

export type AddressFormat = 'bitcoin' | 'litecoin' | 'evm' | 'solana';

export type Network = {
  /** As in answers; it never changes. A chain without a common name has its CAIP-2 identifier. */
  readonly name: string;
  /** For people. */
  readonly label: string;
  /** CAIP-2: `eip155` and the chain id, or the beginning of the hash of the first block. */
  readonly caip2: string;
  readonly addressFormat: AddressFormat;
  /** The currency that its fees are paid in. */
  readonly coin: string;
};

function evm(chainId: number, name: string, about: { label: string; coin?: string }): Network {
  const { label, coin = 'ETH' } = about;
  return { name, label, caip2: `eip155:${chainId}`, addressFormat: 'evm', coin };
}

function solana(name: string, label: string, firstBlock: string): Network {
  return { name, label, caip2: `solana:${firstBlock}`, addressFormat: 'solana', coin: 'SOL' };
}

const networks: readonly Network[] = [
  {
    name: 'bitcoin',
    label: 'Bitcoin',
    caip2: 'bip122:000000000019d6689c085ae165831e93',
    addressFormat: 'bitcoin',
    coin: 'BTC',
  },
  {
    name: 'litecoin',
    label: 'Litecoin',
    caip2: 'bip122:12a765e31ffd4059bada1e25190f6e98',
    addressFormat: 'litecoin',
    coin: 'LTC',
  },
  evm(1, 'ethereum', { label: 'Ethereum' }),
  evm(10, 'optimism', { label: 'OP Mainnet' }),
  evm(56, 'bnb', { label: 'BNB Smart Chain', coin: 'BNB' }),
  evm(137, 'polygon', { label: 'Polygon', coin: 'POL' }),
  evm(8453, 'base', { label: 'Base' }),
  evm(42161, 'arbitrum', { label: 'Arbitrum One' }),
  evm(11155111, 'sepolia', { label: 'Sepolia test network' }),
  solana('solana', 'Solana', '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'),
  solana('solana-devnet', 'Solana devnet', 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1'),
  solana('solana-testnet', 'Solana testnet', '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z'),
];

const byName = new Map(networks.map((network) => [network.name, network]));
const byCaip2 = new Map(networks.map((network) => [network.caip2, network]));

/** Where the currency is paid unless a rail names another network. */
const homes: Readonly<Record<string, string>> = {
  BTC: 'bitcoin',
  LTC: 'litecoin',
  ETH: 'ethereum',
  POL: 'polygon',
  BNB: 'bnb',
  SOL: 'solana',
  USDC: 'ethereum',
  USDT: 'ethereum',
  EURC: 'ethereum',
  PYUSD: 'ethereum',
};

/** By name or CAIP-2 identifier; undefined for a chain that is not listed, and for "". */
export function findNetwork(name: string): Network | undefined {
  return byName.get(name) ?? byCaip2.get(name);
}

/** An EVM chain by its id, named by its CAIP-2 identifier where it has no common name. */
export function getEvmNetwork(chainId: number, coin = 'ETH'): Network {
  const name = `eip155:${chainId}`;
  return findNetwork(name) ?? evm(chainId, name, { label: `chain ${name}`, coin });
}

/** What people read; the name itself for a chain that is not listed. */
export function describeNetwork(name: string): string {
  return findNetwork(name)?.label ?? name;
}

/** The network of a cryptocurrency where nothing else is said; undefined for other currencies. */
export function findHomeNetwork(currency: string): Network | undefined {
  return byName.get(homes[currency] ?? '');
}

/** How addresses look on a network; test networks of a chain have the rules of the chain. */
export function findAddressFormat(name: string): AddressFormat | undefined {
  const known = findNetwork(name)?.addressFormat;
  if (known !== undefined) return known;
  if (name.startsWith('eip155:')) return 'evm';
  return findNetwork(name.split('-')[0] ?? '')?.addressFormat;
}
