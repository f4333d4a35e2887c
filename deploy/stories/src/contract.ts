import { readFileSync } from 'node:fs';
import type { CredentialKind } from '@parley/graph/access';

/** What the contract of the public API asks of one operation. */
export interface ContractRule {
  /** Whether it must be served by now; the others are still to be built. */
  served?: true;
  /** The credentials that it takes; none: it is public. */
  by: CredentialKind[];
  /** Whether members of a suspended tenant may call it. Default: queries yes, others no. */
  whileSuspended?: boolean;
  /** Whether a sign-in may call it whose second step is missing. Default: no. */
  whileLimited?: true;
  /** Whether a user without a tenant may call it. Default: no. */
  withoutTenant?: true;
  /** At most so many requests per client address and fixed window; `failsClosed`: none while they cannot be counted. */
  throttle?: { requests: number; windowSeconds: number; failsClosed?: true };
  /** Whether its body may have `GATEWAY_MAX_LONG_BODY_BYTES`. Default: no. */
  longBody?: true;
  /** Whether it costs something each time, though it is a query: a subgraph is never sent it again. Default: no. */
  sentOnce?: true;
  /** Whether it may change who callers are, always or only where it fails. Default: no. */
  changesCaller?: 'always' | 'failing';
}

/**
 * `gateway/contract.json`: the contract's operations, by type and field (`Query.agents`), those included that are still to be
 * built. A second source beside the directives in the services' schemas, so that a mistake there is found and not followed.
 */
export function readContract(): Map<string, ContractRule> {
  const file = new URL('../../../gateway/contract.json', import.meta.url);
  return new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, ContractRule>));
}
