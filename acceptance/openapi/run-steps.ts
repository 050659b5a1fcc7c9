import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Credentials, type Service, testSettings } from '../service.ts';
import { serverMain } from '../service-process.ts';
import { startReceiver, webhookSettings } from '../webhook-receiver.ts';
import { batchSteps } from './batch-steps.ts';
import { erasureSteps } from './erasure-steps.ts';
import { linkSteps } from './link-steps.ts';
import { accountSteps, payoutSteps, recipientSteps } from './money-steps.ts';
import { operatorSteps } from './operator-steps.ts';
import { statusSteps, verificationSteps } from './other-steps.ts';
import { proposalSteps } from './proposal-steps.ts';
import { scheduleSteps } from './schedule-steps.ts';
import { stabilize } from './stable-values.ts';
import { type ExampleRequest, type Known, readText, type Step, waitUntilMinute } from './steps.ts';
import { webhookSteps } from './webhook-steps.ts';

/**
 * The whole interface used once. Later steps need what earlier ones answered. Each group begins at a
 * minute of the sandbox's clock, and must not last longer than until the next one.
 */
const groups: readonly (readonly [minute: number, steps: readonly Step[]])[] = [
  [0, accountSteps],
  [1, recipientSteps],
  [2, payoutSteps],
  [3, scheduleSteps],
  // These move the clock on by a minute.
  [4, statusSteps],
  [6, verificationSteps],
  [7, linkSteps],
  [8, proposalSteps],
  [9, webhookSteps],
  [10, batchSteps],
  [11, erasureSteps],
  [12, operatorSteps.reads],
  [13, operatorSteps.cases],
  [14, operatorSteps.controls],
  [15, operatorSteps.accounts],
  // The payout to a wallet arrives at 17.
  [16, operatorSteps.persons],
];
const allSteps = groups.flatMap(([minute, steps]) => [waitUntilMinute(minute), ...steps]);

/** For the service: proofs are signed when they are asked for, and not in between. */
export const recordedSettings = { ...webhookSettings, OUTLAY_CHECKPOINT_SECONDS: '3600' };

/** One example of the description: what was sent and what came. */
export type ExampleRecord = {
  operationId: string;
  summary: string;
  request: ExampleRequest;
  /** A null body stands for an empty one, or one that is no JSON. */
  answer: { status: number; contentType: string; body: unknown };
};

export type Description = {
  servers?: unknown[];
  paths: Record<string, Record<string, { operationId?: string }>>;
};

export type RunOptions = {
  baseUrl: string;
  /** A validating proxy in front of the service; what is wrong on purpose does not go through it. */
  proxyUrl?: string;
  /** The description: where each operation is. */
  document: Description;
  credentials: Credentials;
  /** An API key that decides about identities: no client has one by default. */
  reviewerKey: string;
  /** The key of an owner. */
  operatorKey: string;
  /** A webhook endpoint. */
  receiverUrl: string;
  steps: readonly Step[];
};

export type StepAnswer = {
  step: Step;
  /** Such as `GET /v0.1.4/account/balance`. */
  request: string;
  sent: ExampleRequest;
  status: number;
  contentType: string;
  text: string;
};

/** The recorded examples. */
export const examplesFile = join(import.meta.dirname, '../../checks/openapi/examples.json');

const version = 'v0.1.4';
/** So often a step is sent again, every tenth of a second. */
const awaitedMax = 200;

/** Sends the steps in their order and hands each answer to `check`, which may throw. */
export async function runSteps(
  options: RunOptions,
  check: (answer: StepAnswer) => void,
): Promise<void> {
  const places = findPlaces(options.document);
  let known: Known = {
    ...options.credentials,
    reviewer_key: options.reviewerKey,
    operator_key: options.operatorKey,
    receiver_url: options.receiverUrl,
  };
  for (const step of options.steps) {
    const place = places.get(step.operationId);
    if (place === undefined) throw new Error(`${step.operationId} is not described`);
    const sent = step.request(known);
    const base = step.isWrong === true ? options.baseUrl : (options.proxyUrl ?? options.baseUrl);
    const url = base + fillPath(place.path, sent);
    let answer = await send(url, place.method, { step, sent, known });
    for (let again = 0; step.isSettled?.(answer) === false; again += 1) {
      if (again > awaitedMax) throw new Error(`${url} does not settle: ${answer.text}`);
      await sleep(100);
      answer = await send(url, place.method, { step, sent, known });
    }
    check({ step, request: `${place.method} ${url}`, sent, ...answer });
    if (step.keep !== undefined) known = { ...known, ...step.keep(JSON.parse(answer.text)) };
  }
}

type Place = { method: string; path: string };

/** Where each operation of a description is, by its id. */
export function findPlaces(document: Description): Map<string, Place> {
  const places = new Map<string, Place>();
  for (const [path, item] of Object.entries(expandPaths(document).paths)) {
    for (const [method, { operationId }] of Object.entries(item)) {
      if (operationId !== undefined)
        places.set(operationId, { method: method.toUpperCase(), path });
    }
  }
  return places;
}

/** The description with paths that begin at the host, and no servers. */
export function expandPaths(document: Description): Description {
  const entries = Object.entries(document.paths).map(([path, { servers, ...item }]) => [
    servers === undefined ? `/${version}${path}` : path,
    item,
  ]);
  return { ...document, servers: [], paths: Object.fromEntries(entries) };
}

function fillPath(path: string, { params = {}, query = {} }: ExampleRequest): string {
  const filled = path.replaceAll(/\{([a-z_]+)\}/g, (_whole, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  const search = new URLSearchParams(query).toString();
  return search === '' ? filled : `${filled}?${search}`;
}

/** What each credential was kept as; a step without one sends the access token. */
const tokenNames = {
  none: 'access_token',
  first: 'api_key',
  reduced: 'reduced_token',
  reviewer: 'reviewer_key',
  operator: 'operator_key',
  second_operator: 'second_key',
} as const;

type Sending = { step: Step; sent: ExampleRequest; known: Known };

async function send(
  url: string,
  method: string,
  { step, sent, known }: Sending,
): Promise<{ status: number; contentType: string; text: string }> {
  const token = known[tokenNames[step.credential ?? 'none']];
  const response = await fetch(url, {
    method,
    headers: {
      ...(step.credential === 'none' ? {} : { authorization: `Bearer ${token}` }),
      ...(sent.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...sent.headers,
    },
    body:
      sent.form !== undefined
        ? new URLSearchParams(sent.form)
        : sent.body === undefined
          ? null
          : typeof sent.body === 'string'
            ? sent.body
            : JSON.stringify(sent.body),
  });
  const contentType = (response.headers.get('content-type') ?? '').split(';', 1)[0] ?? '';
  return { status: response.status, contentType, text: await response.text() };
}

/** What the description shows of an answer; undefined for a step that is no example. */
export function toRecord(
  answer: StepAnswer,
  { baseUrl, receiverUrl }: Pick<RunOptions, 'baseUrl' | 'receiverUrl'>,
): ExampleRecord | undefined {
  const { step, sent, status, contentType, text } = answer;
  if (step.isHidden === true) return undefined;
  const isJson = contentType.endsWith('json');
  const record: ExampleRecord = {
    operationId: step.operationId,
    summary: step.summary,
    // What was wrong on purpose is not shown as a request to copy.
    request: status === 200 ? sent : {},
    answer: { status, contentType, body: isJson ? shorten(JSON.parse(text), step) : null },
  };
  const shown = JSON.stringify(record)
    .replaceAll(baseUrl, shownBaseUrl)
    .replaceAll(receiverUrl, shownReceiverUrl);
  return JSON.parse(hideSecrets(shown)) as ExampleRecord;
}

const shownBaseUrl = 'http://127.0.0.1:8080';
const shownReceiverUrl = 'https://shop.example/outlay-events';

/** A Base64 text keeps its beginning; so much is enough to see what it is. */
const shownCharacters = 40;

function shorten(value: unknown, step: Step): unknown {
  if (Array.isArray(value)) {
    return value.slice(0, step.itemsMax).map((item) => shorten(item, step));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      key === 'content' && typeof member === 'string'
        ? member.slice(0, shownCharacters)
        : shorten(member, step),
    ]),
  );
}

/** A reader of the description sees the form of a secret, not one that ever worked. */
function hideSecrets(text: string): string {
  const blank = (secret: string): string => 'x'.repeat(secret.length);
  return text
    .replaceAll(/(?<="(?:access_token|client_secret|api_key)":"(?:test_)?)(?!test_)[^"]+/g, blank)
    .replaceAll(/(?<="secret":"whsec_)[^"]+/g, blank)
    .replaceAll(/(?<="key":"op_|#link=)[A-Za-z0-9_-]+/g, blank)
    .replaceAll(/(?<=\/verify\/|\/confirm\/|\/recipient\/|"token":")[A-Za-z0-9_-]{60,}/g, blank);
}

/** By command, as an operator does it; the service runs meanwhile. */
function createReviewerKey({
  credentials,
  dataDirectory,
}: Pick<Service, 'credentials' | 'dataDirectory'>): string {
  if (dataDirectory === undefined)
    throw new Error('examples are recorded from a service of our own');
  const words = ['--kind', 'api_key', '--scopes', 'kyc:decide', '--account', credentials.account];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [serverMain, 'credential', 'create', ...words],
    { env: testSettings(dataDirectory), encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`credential create ended with ${status}: ${stderr}`);
  return readText(JSON.parse(stdout), 'api_key');
}

/** Of the owner whom the first start created. */
function readOperatorKey(dataDirectory: string): string {
  return readFileSync(join(dataDirectory, 'staging.operator'), 'utf8').trim();
}

/**
 * Sends every step and answers the examples.
 *
 * @throws Error when an answer has another status than its step.
 */
export async function recordExamples(
  service: Pick<RunOptions, 'baseUrl' | 'proxyUrl'> &
    Pick<Service, 'credentials' | 'dataDirectory'>,
): Promise<ExampleRecord[]> {
  const response = await fetch(`${service.baseUrl}/openapi.json`);
  const document = (await response.json()) as Description;
  const beganMs = Date.now();
  const records: ExampleRecord[] = [];
  const reviewerKey = createReviewerKey(service);
  await using receiver = await startReceiver();
  const operatorKey = readOperatorKey(service.dataDirectory ?? '');
  const named = { ...service, operatorKey, reviewerKey };
  const options = { ...named, receiverUrl: receiver.url, document, steps: allSteps };
  await runSteps(options, (answer) => {
    const wanted = answer.step.status ?? 200;
    if (answer.status !== wanted) {
      throw new Error(`${answer.request}: ${answer.status}, not ${wanted}: ${answer.text}`);
    }
    const record = toRecord(answer, options);
    if (record !== undefined) records.push(record);
  });
  return stabilize(records, beganMs);
}
