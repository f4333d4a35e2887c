import { conflict, unavailable } from '@parley/kernel/errors';
import { objectNotFound } from '@parley/objects/object-keys';
import { objectChanged } from '@parley/objects/object-store';

interface SdkError extends Error {
  $metadata?: { httpStatusCode?: number };
}

/** Errors that neither the caller nor a bug causes: an operator of the store can fix them. */
const operational = new Set([
  'NoSuchBucket',
  'AccessDenied',
  'InvalidAccessKeyId',
  'SignatureDoesNotMatch',
  'SlowDown',
]);
/** A server that stores objects as files cannot store both `x` and `x/y`. */
const conflicting = new Set(['ObjectParentIsFile', 'ExistingObjectIsDirectory', 'FileParentIsFile']);

/** Maps an expected error of the SDK to a `DomainError`. Any other error is a bug in this code and is returned unchanged. */
export function s3Error(error: unknown, key: string): unknown {
  if (!(error instanceof Error)) return error;
  const { name, $metadata } = error as SdkError;
  const status = $metadata?.httpStatusCode;
  if (operational.has(name)) return unavailable('The object store refuses', error);
  if (conflicting.has(name)) return conflict('Another object is in the way', 'OBJECT_OBSTRUCTED');
  if (name === 'NoSuchKey' || status === 404) return objectNotFound(key);
  if (status === 412) return objectChanged();
  // Without a status there was no response, or the response came too late.
  if (status === undefined || status === 401 || status === 403 || status === 429 || status >= 500) {
    return unavailable('The object store cannot be reached', error);
  }
  return error;
}
