import { readFileSync } from 'node:fs';
import type { FieldRule } from '../../../gateway/src/graph/field-rules.ts';

/** The contract's rules for one operation, named like the schema's directives. */
export interface ContractRule extends FieldRule {
  /** Whether it must be served by now; the others are still to be built. */
  served?: true;
  /** Whether a user without a tenant may call it. Default: no. */
  withoutTenant?: true;
}

/**
 * `gateway/contract.json`: the contract's operations, by type and field (`Query.agents`), those included that are still to be
 * built. A second source beside the directives in the services' schemas, so that a mistake there is found and not followed.
 */
export function readContract(): Map<string, ContractRule> {
  const file = new URL('../../../gateway/contract.json', import.meta.url);
  return new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, ContractRule>));
}
