import { createHash } from 'node:crypto';
import type { Caller } from '@parley/kernel/caller';
import type { GraphQLResolveInfo } from 'graphql';

/** The part of a resolver's `info` with the response name of its field. */
export type FieldPlace = { path: Pick<GraphQLResolveInfo['path'], 'key'> };

/**
 * Returns the key under which the effect of a root field commits. The key is the same in each retry of a request with an `Idempotency-Key`,
 * and different for each field of the request. Undefined without that header.
 */
export function effectKeyOf({ idempotencyKey }: Caller, { path }: FieldPlace): string | undefined {
  if (idempotencyKey === undefined) return undefined;
  return createHash('sha256').update(`${idempotencyKey} ${path.key}`).digest('base64url');
}
