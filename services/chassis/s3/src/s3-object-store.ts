import { Readable } from 'node:stream';
import type { HeadObjectCommandOutput, S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { unavailable } from '@parley/kernel/errors';
import { objectBody } from '@parley/objects/object-body';
import {
  attachment,
  checkContentType,
  checkKey,
  checkPrefix,
  expirySeconds,
  objectNotFound,
  pageSize,
} from '@parley/objects/object-keys';
import { type ObjectFacts, type ObjectStore, objectTooLarge } from '@parley/objects/object-store';
import { s3Error } from './s3-errors.ts';

export interface S3Options {
  /** The server's URL as this process reaches it. */
  endpoint: string;
  /** The server's URL as clients reach it, with which signed URLs begin. Default: `endpoint`. */
  publicEndpoint?: string | undefined;
  region: string;
  /** Name of an existing bucket. */
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** How long one attempt may wait for a response, or for its next bytes, in ms. Default 10,000. */
  timeoutMs?: number | undefined;
}

const connectionTimeoutMs = 2_000;
/** The SDK pauses 100 ms or more between attempts, and retries retryable errors only. */
const maxAttempts = 3;

/** The SDK's modules and clients. The first call loads them, because importing the SDK takes longer than the rest of a unit's start. */
interface Loaded {
  sdk: typeof import('@aws-sdk/client-s3');
  client: S3Client;
  /** Signs URLs of the public endpoint, without requests. */
  signing: S3Client;
  getSignedUrl: typeof import('@aws-sdk/s3-request-presigner').getSignedUrl;
}

/** An object store in one bucket of any S3-compatible server. */
export function s3ObjectStore(options: S3Options): ObjectStore {
  const { bucket: Bucket } = options;
  let loading: Promise<Loaded> | undefined;
  let isClosed = false;

  async function load(): Promise<Loaded> {
    if (isClosed) throw unavailable('The object store is closed');
    loading ??= loadSdk(options);
    return loading;
  }

  /** Runs one call of the SDK, and maps its expected errors to DomainErrors. */
  async function call<T>(key: string, work: (loaded: Loaded) => Promise<T>): Promise<T> {
    const loaded = await load();
    try {
      return await work(loaded);
    } catch (error) {
      throw s3Error(error, key);
    }
  }

  return {
    async put(key, bytes, { contentType }) {
      checkKey(key);
      checkContentType(contentType);
      return call(key, async ({ sdk, client }) => {
        const input = { Bucket, Key: key, Body: bytes, ContentLength: bytes.length, ContentType: contentType };
        const { ETag } = await client.send(new sdk.PutObjectCommand(input));
        return { etag: unquoted(ETag), sizeBytes: bytes.length };
      });
    },

    async get(key, { ifMatch, maxBytes = Number.POSITIVE_INFINITY } = {}) {
      checkKey(key);
      const answer = await call(key, ({ sdk, client }) =>
        client.send(
          new sdk.GetObjectCommand({ Bucket, Key: key, ...(ifMatch !== undefined && { IfMatch: `"${ifMatch}"` }) }),
        ),
      );
      if (!(answer.Body instanceof Readable)) throw objectNotFound(key);
      const facts = factsOf(answer);
      if (facts.sizeBytes > maxBytes) {
        answer.Body.destroy();
        throw objectTooLarge(maxBytes);
      }
      return { ...facts, body: objectBody(answer.Body) };
    },

    async head(key) {
      checkKey(key);
      return call(key, async ({ sdk, client }) =>
        factsOf(await client.send(new sdk.HeadObjectCommand({ Bucket, Key: key }))),
      );
    },

    async delete(key) {
      checkKey(key);
      await call(key, ({ sdk, client }) => client.send(new sdk.DeleteObjectCommand({ Bucket, Key: key })));
    },

    async list({ prefix, after, limit }) {
      checkPrefix(prefix);
      const MaxKeys = pageSize(limit);
      return call(prefix, async ({ sdk, client }) => {
        const { Contents = [], IsTruncated } = await client.send(
          new sdk.ListObjectsV2Command({
            Bucket,
            Prefix: prefix,
            MaxKeys,
            ...(after !== undefined && { StartAfter: after }),
          }),
        );
        const objects = Contents.map(({ Key = '', ETag, Size = 0, LastModified }) => ({
          key: Key,
          etag: unquoted(ETag),
          sizeBytes: Size,
          lastModified: LastModified ?? new Date(0),
        }));
        return { objects, next: IsTruncated ? objects.at(-1)?.key : undefined };
      });
    },

    async presignPut({ key, contentType, expiresInMs }) {
      checkKey(key);
      checkContentType(contentType);
      const { sdk, signing, getSignedUrl } = await load();
      const command = new sdk.PutObjectCommand({ Bucket, Key: key, ContentType: contentType });
      // The content type is signed too, because otherwise a client could send another one.
      return signed(expiresInMs, (when) =>
        getSignedUrl(signing, command, { ...when, signableHeaders: new Set(['host', 'content-type']) }),
      );
    },

    async refuseUploads(key) {
      checkKey(key);
    },

    async presignGet({ key, expiresInMs, fileName, contentType }) {
      checkKey(key);
      if (contentType !== undefined) checkContentType(contentType);
      const { sdk, signing, getSignedUrl } = await load();
      const command = new sdk.GetObjectCommand({
        Bucket,
        Key: key,
        ...(contentType !== undefined && { ResponseContentType: contentType }),
        ...(fileName !== undefined && { ResponseContentDisposition: attachment(fileName) }),
      });
      return signed(expiresInMs, (when) => getSignedUrl(signing, command, when));
    },

    async ping() {
      await call(Bucket, ({ sdk, client }) => client.send(new sdk.HeadBucketCommand({ Bucket })));
    },

    async close() {
      isClosed = true;
      const loaded = await loading?.catch(() => undefined);
      loaded?.client.destroy();
      loaded?.signing.destroy();
    },
  };
}

async function loadSdk(options: S3Options): Promise<Loaded> {
  const { endpoint, publicEndpoint = endpoint, region, accessKeyId, secretAccessKey, timeoutMs = 10_000 } = options;
  const [sdk, { getSignedUrl }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('@aws-sdk/s3-request-presigner'),
  ]);
  const config: S3ClientConfig = {
    region,
    credentials: { accessKeyId, secretAccessKey },
    forcePathStyle: true,
    maxAttempts,
    // Optional checksums would be part of signed URLs, computed for an empty body, and not every S3 supports checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout: connectionTimeoutMs,
      requestTimeout: timeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: timeoutMs,
    },
  };
  return {
    sdk,
    getSignedUrl,
    client: new sdk.S3Client({ ...config, endpoint }),
    signing: new sdk.S3Client({ ...config, endpoint: publicEndpoint }),
  };
}

async function signed(expiresInMs: number, sign: (when: { expiresIn: number; signingDate: Date }) => Promise<string>) {
  const expiresIn = expirySeconds(expiresInMs);
  const signingDate = new Date(Math.floor(Date.now() / 1_000) * 1_000);
  const url = await sign({ expiresIn, signingDate });
  return { url, expiresAt: new Date(signingDate.getTime() + expiresIn * 1_000) };
}

/** Reads an object's facts from the response to a GET or HEAD. */
function factsOf({ ETag, ContentLength, ContentType, LastModified }: HeadObjectCommandOutput): ObjectFacts {
  return {
    etag: unquoted(ETag),
    sizeBytes: ContentLength ?? 0,
    contentType: ContentType ?? 'application/octet-stream',
    lastModified: LastModified ?? new Date(0),
  };
}

function unquoted(etag = ''): string {
  return etag.replaceAll('"', '');
}
