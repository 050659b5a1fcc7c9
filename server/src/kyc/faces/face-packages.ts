import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';

/** The optional packages that find and compare faces, which `npm run faces` installs. */

const folder = fileURLToPath(new URL('../../../../faces/', import.meta.url));
const packages = join(folder, 'node_modules');
const faceApi = join(packages, '@vladmandic/face-api');
const wasmFolder = join(packages, '@tensorflow/tfjs-backend-wasm/dist/');

/** What the process that compares faces may read beyond its code. */
export const facesFolder = folder;

export function areFacesInstalled(): boolean {
  // npm writes this file last.
  return existsSync(join(packages, '.package-lock.json'));
}

export type Tensor = { dispose(): void };
type WeightSpec = { readonly name: string; readonly shape: number[]; readonly dtype: string };
type Net = { loadFromWeightMap(weights: unknown): void };
type Box = { readonly width: number; readonly height: number };
type Detection = { readonly score: number; readonly box: Box };
type Options = { readonly minConfidence: number; readonly maxResults: number };

/** The part of face-api.js that is used. */
export type FaceApi = {
  readonly nets: Readonly<
    Record<'ssdMobilenetv1' | 'faceLandmark68Net' | 'faceRecognitionNet', Net>
  >;
  readonly env: { setEnv(env: Readonly<Record<string, unknown>>): void };
  readonly tf: {
    env(): {
      setPlatform(name: string, platform: Readonly<Record<string, unknown>>): void;
      set(flag: string, value: boolean): void;
    };
    setWasmPaths(folder: string, usePlatformFetch: boolean): void;
    setBackend(name: string): Promise<boolean>;
    readonly io: { decodeWeights(bytes: ArrayBuffer, specs: readonly WeightSpec[]): unknown };
    tensor3d(data: Uint8Array, shape: [number, number, number], type: 'int32'): Tensor;
  };
  readonly SsdMobilenetv1Options: new (options: Options) => Options;
  detectAllFaces(
    picture: Tensor,
    options: Options,
  ): {
    withFaceLandmarks(): {
      withFaceDescriptors(): Promise<
        readonly { readonly detection: Detection; readonly descriptor: Float32Array }[]
      >;
    };
  };
  euclideanDistance(one: Float32Array, other: Float32Array): number;
};

const models = {
  ssdMobilenetv1: 'ssd_mobilenetv1_model',
  faceLandmark68Net: 'face_landmark_68_model',
  faceRecognitionNet: 'face_recognition_model',
} as const;

/**
 * Loads the program and its models from the disk. It is built for browsers and takes Node for one, with
 * parts missing, so it runs in a context that has neither `process` nor a network.
 */
export async function loadFaceApi(): Promise<FaceApi> {
  const readWhole = (path: string): ArrayBuffer => {
    const bytes = new Uint8Array(readFileSync(path));
    return bytes.buffer;
  };
  const context: { faceapi?: FaceApi } & Record<string, unknown> = {
    TextEncoder,
    TextDecoder,
    WebAssembly: Reflect.get(globalThis, 'WebAssembly'),
    performance,
    setTimeout,
    clearTimeout,
    queueMicrotask,
    console: { log: ignore, warn: ignore, error: ignore },
  };
  const program = readFileSync(join(faceApi, 'dist/face-api.js'), 'utf8');
  runInContext(
    `globalThis.self = globalThis;\n${program}\nglobalThis.faceapi = faceapi;`,
    createContext(context),
  );
  const { faceapi: api } = context;
  if (api === undefined) throw new Error('face-api.js has another form');
  api.tf.env().setPlatform('outlay', {
    now: () => performance.now(),
    encode: (text: string) => new TextEncoder().encode(text),
    decode: (bytes: Uint8Array) => new TextDecoder().decode(bytes),
    isTypedArray: (value: unknown) => ArrayBuffer.isView(value),
    setTimeoutCustom: setTimeout,
    fetch: async (path: string) => ({ ok: true, arrayBuffer: async () => readWhole(path) }),
  });
  // Threads would be processes of Node, which are not permitted.
  api.tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', false);
  api.tf.setWasmPaths(wasmFolder, true);
  if (!(await api.tf.setBackend('wasm'))) throw new Error('the WebAssembly backend does not start');
  api.env.setEnv(noBrowser);
  for (const [net, name] of Object.entries(models)) {
    const manifest = readFileSync(join(faceApi, 'model', `${name}-weights_manifest.json`), 'utf8');
    const parts = JSON.parse(manifest) as { weights: WeightSpec[] }[];
    const specs = parts.flatMap(({ weights }) => weights);
    const weights = readWhole(join(faceApi, 'model', `${name}.bin`));
    api.nets[net as keyof typeof models].loadFromWeightMap(api.tf.io.decodeWeights(weights, specs));
  }
  return api;
}

const ignore = (): void => undefined;

/** It asks whether a picture is an element of a browser: these are a type that no picture has. */
const NoElement = WeakSet;
const noBrowser = {
  Canvas: NoElement,
  CanvasRenderingContext2D: NoElement,
  Image: NoElement,
  ImageData: NoElement,
  Video: NoElement,
  createCanvasElement: () => new NoElement(),
  createImageElement: () => new NoElement(),
  createVideoElement: () => new NoElement(),
};
