/**
 * Chain parameters, from the chainparams of Bitcoin Core and Litecoin Core. The hash of the first
 * block identifies a chain.
 */

export const networkNames = ['bitcoin', 'litecoin'] as const;
export type NetworkName = (typeof networkNames)[number];
export const chainNames = ['main', 'test', 'testnet4', 'signet', 'regtest'] as const;
export type ChainName = (typeof chainNames)[number];

export type Network = {
  readonly name: NetworkName;
  /** As in `getblockchaininfo`. */
  readonly chain: ChainName;
  readonly currency: string;
  readonly firstBlockHash: string;
  readonly bech32: string;
  readonly pubKeyHash: number;
  readonly scriptHash: number;
  readonly wif: number;
  readonly extendedKey: { readonly private: number; readonly public: number };
  /** The coin's number in derivation paths (SLIP 44; 1 for every test chain). */
  readonly coinType: number;
  readonly blockSeconds: number;
  /** The rate that defines dust, minor units per 1,000 vbytes. */
  readonly dustRate: bigint;
};

const mainKey = { private: 0x0488ade4, public: 0x0488b21e };
const testKey = { private: 0x04358394, public: 0x043587cf };

const bitcoinMain: Network = {
  name: 'bitcoin',
  chain: 'main',
  currency: 'BTC',
  firstBlockHash: '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f',
  bech32: 'bc',
  pubKeyHash: 0x00,
  scriptHash: 0x05,
  wif: 0x80,
  extendedKey: mainKey,
  coinType: 0,
  blockSeconds: 600,
  dustRate: 3000n,
};

const bitcoinTest: Network = {
  ...bitcoinMain,
  chain: 'test',
  firstBlockHash: '000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943',
  bech32: 'tb',
  pubKeyHash: 0x6f,
  scriptHash: 0xc4,
  wif: 0xef,
  extendedKey: testKey,
  coinType: 1,
};

const litecoinMain: Network = {
  name: 'litecoin',
  chain: 'main',
  currency: 'LTC',
  firstBlockHash: '12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2',
  bech32: 'ltc',
  pubKeyHash: 0x30,
  // Prefix M only: 0x05 (prefix 3) is Bitcoin's, and coins sent to such an address are lost.
  scriptHash: 0x32,
  wif: 0xb0,
  extendedKey: mainKey,
  coinType: 2,
  blockSeconds: 150,
  dustRate: 30_000n,
};

const litecoinTest: Network = {
  ...litecoinMain,
  chain: 'test',
  firstBlockHash: '4966625a4b2851d9fdee139e56211a0d88575f59ed816ff5e6a63deb4e3e29a0',
  bech32: 'tltc',
  pubKeyHash: 0x6f,
  // Prefix Q only: 0xc4 (prefix 2) is that of Bitcoin's test chains.
  scriptHash: 0x3a,
  wif: 0xef,
  extendedKey: testKey,
  coinType: 1,
};

const networks: readonly Network[] = [
  bitcoinMain,
  bitcoinTest,
  {
    ...bitcoinTest,
    chain: 'testnet4',
    firstBlockHash: '00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043',
  },
  {
    ...bitcoinTest,
    chain: 'signet',
    firstBlockHash: '00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6',
  },
  {
    ...bitcoinTest,
    chain: 'regtest',
    firstBlockHash: '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206',
    bech32: 'bcrt',
    blockSeconds: 5,
  },
  litecoinMain,
  litecoinTest,
  {
    ...litecoinTest,
    chain: 'regtest',
    firstBlockHash: '530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9',
    bech32: 'rltc',
    blockSeconds: 5,
  },
];

export function findNetwork(name: NetworkName, chain: ChainName): Network | undefined {
  return networks.find((network) => network.name === name && network.chain === chain);
}

/** @throws Error when the network has no such chain. */
export function getNetwork(name: NetworkName, chain: ChainName): Network {
  const network = findNetwork(name, chain);
  if (network === undefined) throw new Error(`${name} has no chain ${chain}`);
  return network;
}
