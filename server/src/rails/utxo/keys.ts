import { hex } from '@scure/base';
import { HDKey } from '@scure/bip32';
import { p2tr, p2wpkh, type Transaction, WIF } from '@scure/btc-signer';
import type { Network } from './networks.ts';

/**
 * The rail's own keys, for scripts of one kind: P2WPKH (`wpkh`) or Taproot (`tr`). A seed or an
 * extended key has two branches: 0 for deposits, 1 for change (BIP 44).
 */

export type KeyKind = 'wpkh' | 'tr';

export type OwnKeysOptions = {
  /** A seed (16 to 64 bytes, hexadecimal), an extended private key, or WIF keys with spaces. */
  readonly secret: string;
  readonly kind: KeyKind;
  /** From the seed, or from an extended key of depth 0; undefined: BIP 84 or BIP 86, account 0. */
  readonly path: string | undefined;
  /** Addresses of each branch that are used and watched. */
  readonly addressCount: number;
};

export type WatchedDescriptor = {
  /** Without checksum; public keys only. */
  readonly text: string;
  /** The last index of a branch; undefined for a single script. */
  readonly lastIndex: number | undefined;
  /** All scripts of the descriptor. */
  readonly scripts: readonly string[];
  readonly isChange: boolean;
};

export type OwnKeys = {
  readonly kind: KeyKind;
  readonly descriptors: readonly WatchedDescriptor[];
  owns(script: string): boolean;
  /** For the n-th transaction; addresses are used in turn. */
  getChangeScript(index: number): string;
  getDepositScript(index: number): string;
  /** Needed to sign a Taproot input; undefined for other kinds. */
  findInternalKey(script: string): Uint8Array | undefined;
  /** Signs the inputs, whose scripts are in their order, and finalizes the transaction. */
  sign(transaction: Transaction, scripts: readonly string[]): void;
};

type KeyOfScript = {
  readonly script: string;
  readonly privateKey: Uint8Array;
  readonly publicKey: Uint8Array;
  readonly internalKey: Uint8Array | undefined;
};

const receivingBranch = 0;
const changeBranch = 1;

/** @throws Error, without the secret, when it is not a key of the network. */
export function createOwnKeys(network: Network, options: OwnKeysOptions): OwnKeys {
  const { secret } = options;
  if (/^(?:[0-9a-f]{2}){16,64}$/i.test(secret) || /^[xt]prv/.test(secret)) {
    return assembleBranches(options, getAccountKey(network, options));
  }
  return assembleSingles(network, options);
}

function getAccountKey(network: Network, { secret, kind, path }: OwnKeysOptions): HDKey {
  const versions = network.extendedKey;
  const isExtended = /^[xt]prv/.test(secret);
  let key: HDKey;
  try {
    key = isExtended
      ? HDKey.fromExtendedKey(secret, versions)
      : HDKey.fromMasterSeed(hex.decode(secret.toLowerCase()), versions);
  } catch {
    // Without a cause: the decoder's error may contain parts of the key.
    throw new Error(
      `config.keys.secret must be an extended private key of ${network.name} ${network.chain}`,
    );
  }
  if (key.privateKey === null) throw new Error('config.keys.secret must be a private key');
  const purpose = kind === 'tr' ? 86 : 84;
  const usual = key.depth === 0 ? `m/${purpose}'/${network.coinType}'/0'` : 'm';
  return key.derive(path ?? usual);
}

function describeKey(kind: KeyKind, privateKey: Uint8Array, publicKey: Uint8Array): KeyOfScript {
  if (kind === 'wpkh') {
    const script = hex.encode(p2wpkh(publicKey).script);
    return { script, privateKey, publicKey, internalKey: undefined };
  }
  const internalKey = publicKey.slice(1);
  return { script: hex.encode(p2tr(internalKey).script), privateKey, publicKey, internalKey };
}

function assembleBranches(options: OwnKeysOptions, account: HDKey): OwnKeys {
  const { kind, addressCount } = options;
  const branches = [receivingBranch, changeBranch].map((branch) => {
    const parent = account.deriveChild(branch);
    return Array.from({ length: addressCount }, (_, index) => {
      const { privateKey, publicKey } = parent.deriveChild(index);
      if (privateKey === null || publicKey === null)
        throw new Error('config.keys.secret must be a private key');
      return describeKey(kind, privateKey, publicKey);
    });
  });
  const descriptors = branches.map((keys, branch) => ({
    text: `${kind}(${account.publicExtendedKey}/${branch}/*)`,
    lastIndex: addressCount - 1,
    scripts: keys.map(({ script }) => script),
    isChange: branch === changeBranch,
  }));
  const [deposits = [], change = []] = branches;
  return assemble({ kind, descriptors, deposits, change });
}

function assembleSingles(network: Network, { secret, kind }: OwnKeysOptions): OwnKeys {
  const keys = secret.split(/[\s,]+/).flatMap((text) => (text === '' ? [] : readWif(text)));
  function readWif(text: string): KeyOfScript {
    try {
      const privateKey = WIF({ ...network, scriptHash: 0 }).decode(text);
      const { publicKey } = new HDKey({ privateKey, chainCode: new Uint8Array(32) });
      if (publicKey === null) throw new Error('not a key');
      return describeKey(kind, privateKey, publicKey);
    } catch {
      // Without a cause: the decoder's error may contain parts of the key.
      throw new Error(
        `config.keys.secret must be a seed, extended private key or WIF keys of ${network.name} ${network.chain}`,
      );
    }
  }
  if (keys.length === 0) throw new Error('config.keys.secret must contain a key');
  const descriptors = keys.map(({ script, publicKey, internalKey }) => ({
    text: `${kind}(${hex.encode(internalKey ?? publicKey)})`,
    lastIndex: undefined,
    scripts: [script],
    isChange: false,
  }));
  return assemble({ kind, descriptors, deposits: keys, change: keys });
}

type Parts = {
  kind: KeyKind;
  descriptors: readonly WatchedDescriptor[];
  deposits: readonly KeyOfScript[];
  change: readonly KeyOfScript[];
};

function assemble({ kind, descriptors, deposits, change }: Parts): OwnKeys {
  const byScript = new Map([...deposits, ...change].map((key) => [key.script, key]));
  const pick = (keys: readonly KeyOfScript[], index: number): string =>
    keys[index % keys.length]?.script ?? '';
  return {
    kind,
    descriptors,
    owns: (script) => byScript.has(script),
    getChangeScript: (index) => pick(change, index),
    getDepositScript: (index) => pick(deposits, index),
    findInternalKey: (script) => byScript.get(script)?.internalKey,
    sign: (transaction, scripts) => {
      scripts.forEach((script, index) => {
        const key = byScript.get(script);
        if (key === undefined) throw new Error('an input does not belong to the keys of the rail');
        transaction.signIdx(key.privateKey, index);
      });
      transaction.finalize();
    },
  };
}
