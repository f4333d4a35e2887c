import { createHash } from 'node:crypto';
import type { Caller } from '@parley/kernel/caller';
import type { GraphQLResolveInfo } from 'graphql';

/** Of a resolver's `info`: the name of its field in the answer. */
export type FieldPlace = { path: Pick<GraphQLResolveInfo['path'], 'key'> };

/**
 * What the effect of a root field is committed under: the same in each retry of a request with an `Idempotency-Key`, and another one for
 * each field of it. Undefined without such a key.
 */
export function effectKeyOf({ idempotencyKey }: Caller, { path }: FieldPlace): string | undefined {
  if (idempotencyKey === undefined) return undefined;
  return createHash('sha256').update(`${idempotencyKey} ${path.key}`).digest('base64url');
}
