import { hex } from '@scure/base';
import { Address, OutScript } from '@scure/btc-signer';
import { attempt } from '../../core/attempt.ts';
import { getNetwork, type Network } from './networks.ts';

/** Addresses and their scripts. Scripts are hexadecimal text. */

/** Supported scripts, with their names in descriptors. */
export const scriptKinds = ['pkh', 'sh', 'wpkh', 'wsh', 'tr'] as const;
export type ScriptKind = (typeof scriptKinds)[number];

export type Destination = {
  readonly kind: ScriptKind;
  readonly script: string;
  /** The address in the network's own form. */
  readonly address: string;
};

const kinds: ReadonlySet<string> = new Set(scriptKinds);

/** No address of any network is longer. */
const addressLengthMax = 90;

/**
 * Undefined for an invalid address, or one of a later witness version, which anyone could spend until
 * its rules exist.
 */
export function readAddress(network: Network, text: string): Destination | undefined {
  if (text.length > addressLengthMax) return undefined;
  const decoded = decodeAddress(network, text);
  if (decoded === undefined) return undefined;
  return { ...decoded, address: formatScript(network, decoded.script) ?? text };
}

/**
 * Reads a main network address as the same script on a test chain, so that a staging environment
 * that requires main network addresses can pay with test coins.
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
  return attempt(() => {
    const decoded = Address(network).decode(text);
    const { type } = decoded;
    return isKind(type) ? { kind: type, script: hex.encode(OutScript.encode(decoded)) } : undefined;
  });
}

function isKind(type: string): type is ScriptKind {
  return kinds.has(type);
}

/** Undefined for an unsupported script. */
export function findScriptKind(script: string): ScriptKind | undefined {
  const type = decodeScript(script)?.type;
  return type !== undefined && isKind(type) ? type : undefined;
}

function decodeScript(script: string) {
  return attempt(() => OutScript.decode(hex.decode(script)));
}

/** The address of a script in the network's own form; undefined where it has none. */
export function formatScript(network: Network, script: string): string | undefined {
  const decoded = decodeScript(script);
  if (decoded === undefined || !isKind(decoded.type)) return undefined;
  return Address(network).encode(decoded);
}

/**
 * Nodes do not relay outputs below this, the cost of spending them at the network's dust rate. An
 * input has 148 bytes, or 67 with a discounted witness (Bitcoin Core's `GetDustThreshold`).
 */
export function getDustMinor(network: Network, script: string): bigint {
  const scriptBytes = script.length / 2;
  const kind = findScriptKind(script);
  const spendBytes = kind === 'pkh' || kind === 'sh' ? 148 : 67;
  return (BigInt(8 + 1 + scriptBytes + spendBytes) * network.dustRate + 999n) / 1000n;
}
