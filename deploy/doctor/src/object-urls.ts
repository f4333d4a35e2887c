import { gatewaySettings } from '@parley/gateway/config';
import { fileSettings } from '@parley/kernel/settings/shared-settings';
import type { ObjectStore } from '@parley/objects/object-store';
import { connectionProblem, hostAndPort, reach, reasonOf } from './connection-problem.ts';
import { type Outcome, ok, warning, wrong } from './outcome.ts';

export interface Bucket {
  bucket: string;
  endpoint: string;
  publicEndpoint?: string | undefined;
  /** The key of an object in the bucket. */
  key: string;
  /** Whether the object exists and the login may read it. */
  isReadable: boolean;
  /** The origins of web pages that may call the gateway. */
  origins: string[];
  patienceMs: number;
}

const names = fileSettings.s3.settings;
const { corsOrigins } = gatewaySettings;
const expiresInMs = 60_000;
/** The origin to try if any origin is allowed. */
const anyOrigin = 'https://any.example';

/** Requests signed URLs as clients do, and sends the CORS preflight requests of browsers. */
export async function publicOutcomes(store: ObjectStore, bucket: Bucket): Promise<Outcome[]> {
  const settings = [bucket.publicEndpoint === undefined ? names.endpoint.name : names.publicEndpoint.name];
  const { host, port, at } = hostAndPort(bucket.publicEndpoint ?? bucket.endpoint);
  try {
    await reach(host, port, bucket.patienceMs);
    const signed = bucket.isReadable ? await signatureOutcomes(store, bucket, at, settings) : [];
    return [...signed, ...(await corsOutcomes(store, bucket))];
  } catch (error) {
    const problem = connectionProblem(error, at);
    const found = `clients may not reach ${at}: ${problem?.found ?? reasonOf(error)} (from here)`;
    return [warning('s3.public-endpoint', settings, found, problem?.change ?? `Correct ${settings[0]}.`)];
  }
}

async function signatureOutcomes(
  store: ObjectStore,
  { key, patienceMs }: Bucket,
  at: string,
  settings: string[],
): Promise<Outcome[]> {
  const { url } = await store.presignGet({ key, expiresInMs });
  const { status } = await request(url, 'GET', {}, patienceMs);
  if (status === 200) return [ok('s3.public-endpoint', settings, `signed URLs at ${at} work`)];
  const change = 'Where a proxy stands before the service, let it pass the Host header and the path unchanged.';
  return [wrong('s3.public-signature', settings, `signed URLs at ${at} are answered ${status}`, change)];
}

async function corsOutcomes(store: ObjectStore, { key, bucket, origins, patienceMs }: Bucket): Promise<Outcome[]> {
  const { url } = await store.presignPut({ key, contentType: 'text/plain', expiresInMs });
  const asked = origins.flatMap((origin) =>
    ['PUT', 'GET'].map(async (method) => {
      const isAllowed = await mayCall(url, origin === '*' ? anyOrigin : origin, method, patienceMs);
      return isAllowed ? [] : [`${method} by pages of ${origin === '*' ? 'any origin' : origin}`];
    }),
  );
  const refused = (await Promise.all(asked)).flat();
  const settings = [names.bucket.name, corsOrigins.name];
  if (refused.length > 0) {
    const change = `Give the bucket a CORS rule with these origins, the methods PUT and GET, and the header content-type.`;
    return [wrong('s3.cors', settings, `CORS of ${bucket} does not allow ${refused.join(', ')}`, change)];
  }
  return origins.length > 0 ? [ok('s3.cors', settings, `browsers may PUT and GET in ${bucket}`)] : [];
}

/** Sends a browser's preflight request, and reports whether CORS allows the call. */
async function mayCall(url: string, origin: string, method: string, patienceMs: number): Promise<boolean> {
  const asked = {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'content-type',
  };
  const { headers } = await request(url, 'OPTIONS', asked, patienceMs);
  const allows = (what: string, wanted: string) => {
    const allowed = (headers.get(`access-control-allow-${what}`) ?? '').split(',').map((each) => each.trim());
    return allowed.some((each) => each === '*' || each.toLowerCase() === wanted.toLowerCase());
  };
  return allows('origin', origin) && allows('methods', method) && allows('headers', 'content-type');
}

async function request(
  url: string,
  method: string,
  headers: Record<string, string>,
  patienceMs: number,
): Promise<Response> {
  const answer = await fetch(url, { method, headers, redirect: 'manual', signal: AbortSignal.timeout(patienceMs) });
  await answer.body?.cancel();
  return answer;
}
