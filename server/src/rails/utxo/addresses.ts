import { hex } from '@scure/base';
import { Address, OutScript } from '@scure/btc-signer';
import { getNetwork, type Network } from './networks.ts';

/**
 * Addresses and the scripts that they stand for. Scripts are hexadecimal text here: they are
 * compared, stored and looked up far more often than they are taken apart.
 */

/** The scripts whose payment or spending is understood; the names are those of descriptors. */
export const scriptKinds = ['pkh', 'sh', 'wpkh', 'wsh', 'tr'] as const;
export type ScriptKind = (typeof scriptKinds)[number];

export type Destination = {
  readonly kind: ScriptKind;
  readonly script: string;
  /** The address in the network's own form. */
  readonly address: string;
};

const kinds: ReadonlySet<string> = new Set(scriptKinds);

/** Longer texts are no address of any network; the decoder need not look at them. */
const addressLengthMax = 90;

/**
 * What an address of the network stands for; undefined when it is none, or one of a later witness
 * version, whose rules do not exist yet so that anybody could take the money.
 */
export function readAddress(network: Network, text: string): Destination | undefined {
  if (text.length > addressLengthMax) return undefined;
  const decoded = decodeAddress(network, text);
  if (decoded === undefined) return undefined;
  return { ...decoded, address: formatScript(network, decoded.script) ?? text };
}

/**
 * On a test chain that is told to: an address of the main network stands for the same script. So a
 * staging environment, whose checks want addresses of the main networks, can pay with test coins.
 */
export function readMainAddress(network: Network, text: string): Destination | undefined {
  const found = readAddress(getNetwork(network.name, 'main'), text);
  if (found === undefined) return undefined;
  const address = formatScript(network, found.script);
  return address === undefined ? undefined : { ...found, address };
}

function decodeAddress(
  network: Network,
  text: string,
): { kind: ScriptKind; script: string } | undefined {
  try {
    const decoded = Address(network).decode(text);
    const { type } = decoded;
    if (!isKind(type)) return undefined;
    return { kind: type, script: hex.encode(OutScript.encode(decoded)) };
  } catch (cause) {
    // The decoder throws on what is no address, which here is an answer and no failure.
    if (cause instanceof Error) return undefined;
    throw cause;
  }
}

function isKind(type: string): type is ScriptKind {
  return kinds.has(type);
}

/** The kind of a script; undefined for one that this rail does not handle. */
export function findScriptKind(script: string): ScriptKind | undefined {
  const type = decodeScript(script)?.type;
  return type !== undefined && isKind(type) ? type : undefined;
}

function decodeScript(script: string) {
  try {
    return OutScript.decode(hex.decode(script));
  } catch (cause) {
    if (cause instanceof Error) return undefined;
    throw cause;
  }
}

/** The address of a script in the network's own form; undefined where it has none. */
export function formatScript(network: Network, script: string): string | undefined {
  const decoded = decodeScript(script);
  if (decoded === undefined || !isKind(decoded.type)) return undefined;
  return Address(network).encode(decoded);
}

/**
 * Below this an output is not relayed: what spending it would cost at the network's dust rate
 * exceeds it. An input takes 148 bytes, or 67 where its proof is discounted (Bitcoin Core's
 * `GetDustThreshold`).
 */
export function getDustMinor(network: Network, script: string): bigint {
  const scriptBytes = script.length / 2;
  const kind = findScriptKind(script);
  const spendBytes = kind === 'pkh' || kind === 'sh' ? 148 : 67;
  return (BigInt(8 + 1 + scriptBytes + spendBytes) * network.dustRate + 999n) / 1000n;
}
