import { conflict, unavailable } from '@parley/kernel/errors';
import { objectNotFound } from './object-keys.ts';
import { objectChanged } from './object-store.ts';

interface SdkError extends Error {
  $metadata?: { httpStatusCode?: number };
}

/** Names of answers that are neither the caller's fault nor a bug: whoever runs the store can mend them. */
const mendable = new Set(['NoSuchBucket', 'AccessDenied', 'InvalidAccessKeyId', 'SignatureDoesNotMatch', 'SlowDown']);
/** A server that keeps objects as files cannot keep `x` beside `x/y`. */
const obstructed = new Set(['ObjectParentIsFile', 'ExistingObjectIsDirectory', 'FileParentIsFile']);

/** What the SDK threw, in the words of the port. What is left is a bug of ours and stays as it is. */
export function s3Error(error: unknown, key: string): unknown {
  if (!(error instanceof Error)) return error;
  const { name, $metadata } = error as SdkError;
  const status = $metadata?.httpStatusCode;
  if (mendable.has(name)) return unavailable('The object store refuses', error);
  if (obstructed.has(name)) return conflict('Another object is in the way', 'OBJECT_OBSTRUCTED');
  if (name === 'NoSuchKey' || status === 404) return objectNotFound(key);
  if (status === 412) return objectChanged();
  // No status: nobody answered, in time or at all.
  if (status === undefined || status === 401 || status === 403 || status === 429 || status >= 500) {
    return unavailable('The object store cannot be reached', error);
  }
  return error;
}
