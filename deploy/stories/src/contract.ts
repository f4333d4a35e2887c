import { readFileSync } from 'node:fs';
import type { FieldRule } from '../../../gateway/src/graph/field-rules.ts';

/** The contract's rules for one operation. The names are those of the schema's directives. */
export interface ContractRule extends FieldRule {
  /** Whether the operation must already be served. Otherwise it is not implemented yet. */
  served?: true;
  /** Whether a user without a tenant may call the operation. Default: no. */
  withoutTenant?: true;
}

/**
 * Reads `gateway/contract.json`: the contract's operations by type and field (`Query.agents`), including those that are not implemented
 * yet. It is a second source beside the directives in the services' schemas, so that a mistake in a directive is detected.
 */
export function readContract(): Map<string, ContractRule> {
  const file = new URL('../../../gateway/contract.json', import.meta.url);
  return new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, ContractRule>));
}
