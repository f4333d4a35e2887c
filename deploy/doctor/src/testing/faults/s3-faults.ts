import type { ExecutionContext } from 'ava';
import { canary, type Garden } from '../garden.ts';
import { type Fault, nowhere, planted } from '../planted.ts';
import { type HttpFaults, s3Proxy } from '../proxies.ts';

async function s3Behind(
  { env }: Garden,
  t: ExecutionContext,
  how: HttpFaults,
  setting = 'S3_ENDPOINT',
): Promise<Fault> {
  return { env: { [setting]: await s3Proxy(t, env.S3_ENDPOINT ?? '', how) } };
}

export const s3Faults = [
  planted(
    'an S3 service that is down',
    () => ({ env: { S3_ENDPOINT: `http://${nowhere}` } }),
    ['s3.refused'],
    /nothing listens/u,
  ),
  planted(
    'a bucket that is missing',
    () => ({ env: { S3_BUCKET: 'no-garden' } }),
    ['s3.bucket'],
    /no bucket no-garden/u,
  ),
  planted(
    'an S3 endpoint with a path that the service does not have',
    (garden) => ({ env: { S3_ENDPOINT: `${garden.env.S3_ENDPOINT}/storage` } }),
    ['s3.bucket'],
    /no bucket garden-\w+ below \/storage, the path of S3_ENDPOINT/u,
  ),
  planted('a wrong access key', () => ({ env: { S3_ACCESS_KEY_ID: 'nobody' } }), ['s3.access-key'], /is unknown/u),
  planted('a wrong secret', () => ({ env: { S3_SECRET_ACCESS_KEY: canary } }), ['s3.secret'], /not that of/u),
  planted('a wrong region', () => ({ env: { S3_REGION: 'eu-9' } }), ['s3.region'], /not in eu-9/u),
  ...(
    [
      ['write', 'PUT', '/parley-doctor/'],
      ['read', 'HEAD', '/parley-doctor/'],
      ['list', 'GET', 'list-type'],
      ['delete', 'DELETE', '/parley-doctor/'],
    ] as const
  ).map(([right, method, path]) =>
    planted(
      `a login of S3 that may not ${right}`,
      async (garden, t) => ({
        ...(await s3Behind(garden, t, {
          refuses: ({ method: used, url = '' }) => used === method && url.includes(path),
        })),
        undo: () => garden.bucket.empty(),
      }),
      ['s3.rights'],
      new RegExp(`may not ${right} in`, 'u'),
    ),
  ),
  planted(
    'a bucket whose CORS does not allow an origin',
    (garden) => ({ env: { CORS_ORIGINS: `${garden.bucket.origin},https://other.example` } }),
    ['s3.cors'],
    /does not allow PUT by pages of https:\/\/other.example, GET by/u,
  ),
  planted(
    'a public endpoint that is down',
    () => ({ env: { S3_PUBLIC_ENDPOINT: `http://${nowhere}` } }),
    ['s3.public-endpoint'],
    /nothing listens/u,
  ),
  planted(
    'a public endpoint that changes what was signed',
    (garden, t) => s3Behind(garden, t, { changesHost: true }, 'S3_PUBLIC_ENDPOINT'),
    ['s3.public-signature'],
    /are answered 403/u,
  ),
];
