import { randomUUID } from 'node:crypto';
import { gatewaySettings } from '@parley/gateway/config';
import { isDomainError } from '@parley/kernel/errors';
import type { ValuesOf } from '@parley/kernel/settings/settings';
import { fileSettings } from '@parley/kernel/settings/shared-settings';
import type { ObjectStore } from '@parley/objects/object-store';
import { s3ObjectStore } from '@parley/s3/s3-object-store';
import { clockOutcome } from './clock.ts';
import { connectionProblem, hostAndPort, reach, reasonOf, withCauses } from './connection-problem.ts';
import { type Installation, usable } from './installation.ts';
import { type Bucket, publicOutcomes } from './object-urls.ts';
import { type Outcome, ok, wrong } from './outcome.ts';

type S3 = NonNullable<ValuesOf<typeof fileSettings>['s3']>;

const names = fileSettings.s3.settings;
const settings = [names.endpoint.name];
const folder = 'parley-doctor/';
const body = Buffer.from('Written by scripts/doctor, which could not delete it.\n');

/** Connects to the S3 service, and writes, reads, lists and deletes one object with a random name. */
export async function checkObjectStore({ env, units, now, patienceMs }: Installation): Promise<Outcome[]> {
  const s3 = units.some(({ keepsFiles }) => keepsFiles) ? usable(env, fileSettings)?.s3 : undefined;
  if (s3 === undefined) return [];
  const origins = usable(env, { cors: gatewaySettings.corsOrigins })?.cors ?? [];
  const server = await greet(s3, now, patienceMs);
  if (server.level === 'wrong') return [server];
  const store = s3ObjectStore({ ...s3, timeoutMs: patienceMs });
  try {
    return [server, ...(await bucketOutcomes(store, { ...s3, origins, patienceMs }))];
  } catch (error) {
    return [failure(error, s3)];
  } finally {
    await store.close();
  }
}

/** Checks whether the service responds, and compares its clock with this machine's. */
async function greet({ endpoint }: S3, now: Installation['now'], patienceMs: number): Promise<Outcome> {
  const { host, port, at } = hostAndPort(endpoint);
  try {
    await reach(host, port, patienceMs);
    const asked = now();
    const answer = await fetch(endpoint, { redirect: 'manual', signal: AbortSignal.timeout(patienceMs) });
    await answer.body?.cancel();
    const serverMs = Date.parse(answer.headers.get('date') ?? '');
    if (Number.isNaN(serverMs)) return ok('s3.reachable', settings, `${at} answers`);
    return clockOutcome('s3', settings, at, { serverMs, asked, answered: now(), exactMs: 1_000 });
  } catch (error) {
    const problem = connectionProblem(error, at);
    if (problem) return wrong(`s3.${problem.kind}`, settings, problem.found, problem.change);
    return wrong('s3.failed', settings, `${at} does not answer: ${reasonOf(error)}`, `Correct ${names.endpoint.name}.`);
  }
}

async function bucketOutcomes(store: ObjectStore, s3: S3 & Pick<Bucket, 'origins' | 'patienceMs'>): Promise<Outcome[]> {
  const key = `${folder}${randomUUID()}`;
  const mayList = await isAllowed(store.list({ prefix: folder, limit: 1 }));
  const mayWrite = await isAllowed(store.put(key, body, { contentType: 'text/plain' }));
  let mayRead = false;
  let ofClients: Outcome[] = [];
  let mayDelete = false;
  try {
    // Without the right to list, S3 also refuses reads of missing objects.
    mayRead = (await isAllowed(store.head(key))) || !(mayWrite || mayList);
    ofClients = await publicOutcomes(store, { ...s3, key, isReadable: mayWrite && mayRead });
  } finally {
    mayDelete = await isAllowed(store.delete(key));
  }
  const rights = { list: mayList, write: mayWrite, read: mayRead, delete: mayDelete };
  const refused = Object.entries(rights).flatMap(([right, isGiven]) => (isGiven ? [] : [right]));
  const left = mayWrite && !mayDelete ? ` Then delete ${key} there.` : '';
  const login = [names.accessKeyId.name, names.bucket.name];
  return [
    refused.length === 0
      ? ok('s3.rights', login, `the login may write, read, list and delete in ${s3.bucket}`)
      : wrong('s3.rights', login, `the login may not ${refused.join(', ')} in ${s3.bucket}`, `Allow it to.${left}`),
    ...ofClients,
  ];
}

/** Reports whether S3 allows a call. @throws errors with other causes, such as a missing bucket */
async function isAllowed(call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (isDomainError(error, 'notFound')) return true;
    if (withCauses(error).some(isDenied)) return false;
    throw error;
  }
}

/** Reports whether the error is a refused permission. The response to HEAD has no body, and therefore no error code. */
function isDenied(error: Error): boolean {
  const status = '$metadata' in error ? (error.$metadata as { httpStatusCode?: number }).httpStatusCode : undefined;
  return error.name === 'AccessDenied' || (status === 403 && !(error.name in failures));
}

type Failure = (s3: S3) => Outcome;
const failures: Record<string, Failure> = {
  NoSuchBucket: ({ bucket, endpoint }) => missingBucket(bucket, new URL(endpoint).pathname),
  InvalidAccessKeyId: () =>
    wrong('s3.access-key', [names.accessKeyId.name], 'the access key is unknown', `Correct ${names.accessKeyId.name}.`),
  SignatureDoesNotMatch: () =>
    wrong(
      's3.secret',
      [names.secretAccessKey.name],
      'the secret is not that of the access key',
      `Correct ${names.secretAccessKey.name}.`,
    ),
  RequestTimeTooSkewed: () =>
    wrong('s3.clock', settings, "its clock and this machine's differ by minutes", 'Set both by NTP.'),
  AuthorizationHeaderMalformed: ({ region }) => otherRegion(region),
  PermanentRedirect: ({ region }) => otherRegion(region),
};

/**
 * Reports a missing bucket. If the endpoint's URL has a path, the path is probably wrong: most services interpret its first part as the
 * bucket, and only a few services are reached at a path.
 */
function missingBucket(bucket: string, path: string): Outcome {
  if (path === '/') {
    const change = `Create it, or correct ${names.bucket.name}.`;
    return wrong('s3.bucket', [names.bucket.name], `there is no bucket ${bucket}`, change);
  }
  const found = `there is no bucket ${bucket} below ${path}, the path of ${names.endpoint.name}`;
  const change = `Take the path out of ${names.endpoint.name}, unless the service has it: then create the bucket, or correct ${names.bucket.name}.`;
  return wrong('s3.bucket', [names.endpoint.name, names.bucket.name], found, change);
}

function otherRegion(region: string): Outcome {
  return wrong('s3.region', [names.region.name], `the bucket is not in ${region}`, `Correct ${names.region.name}.`);
}

function failure(error: unknown, s3: S3): Outcome {
  const known = withCauses(error).flatMap(({ name }) => failures[name] ?? [])[0];
  if (known) return known(s3);
  const { at } = hostAndPort(s3.endpoint);
  return wrong(
    's3.failed',
    settings,
    `${at} does not answer as S3: ${reasonOf(error)}`,
    `Correct ${names.endpoint.name}.`,
  );
}
