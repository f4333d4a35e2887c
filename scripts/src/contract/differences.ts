import { isDeepStrictEqual } from 'node:util';
import type { CredentialKind } from '@parley/graph/access';
import type { ContractRule } from '@parley/stories/contract';
import type { FieldRule, FieldRules } from '../../../gateway/src/graph/field-rules.ts';

/**
 * Returns one line for each operation that the contract contains but nothing serves, that is served but not in the contract, or whose
 * directives differ from the contract.
 */
export function differences(contract: ReadonlyMap<string, ContractRule>, rules: FieldRules): string[] {
  const missing = [...contract].filter(([name, { served }]) => served && !rules.has(name));
  return [
    ...missing.map(([name]) => `${name} is not served`),
    ...[...rules].flatMap(([name, rule]) => {
      const wanted = contract.get(name);
      if (!wanted?.served) {
        const added = wanted ? '"served": true to its entry' : entryOf(name, rule);
        return [
          `${name} is served, and gateway/contract.json does not say so: if the contract has it so, add ${added}`,
        ];
      }
      return differing(name, comparable({ whileSuspended: name.startsWith('Query.'), ...wanted }), comparable(rule));
    }),
  ];
}

/** Returns the entry that `gateway/contract.json` should have for an operation with these directives. */
function entryOf(name: string, { whileSuspended = false, ...rule }: FieldRule): string {
  const entry = { served: true, ...rule, ...(whileSuspended !== name.startsWith('Query.') && { whileSuspended }) };
  return `${JSON.stringify(name)}: ${JSON.stringify(entry)}`;
}

/** An operation in the document of the contract. */
export interface DocumentedOperation {
  operation: string;
  kind: 'query' | 'mutation' | 'subscription';
  auth: CredentialKind[];
  throttle?: { requests: number; windowSeconds: number };
}

/** Returns one line for each operation of the contract's document that differs or is missing in `gateway/contract.json`. */
export function unlikeDocument(contract: ReadonlyMap<string, ContractRule>, document: DocumentedOperation[]): string[] {
  return document.flatMap(({ operation, kind, auth, throttle }) => {
    const name = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}.${operation}`;
    const rule = contract.get(name);
    if (!rule) return [`${name} is not in gateway/contract.json`];
    const { requests, windowSeconds } = rule.throttle ?? {};
    const written = { by: rule.by.toSorted(), throttle: rule.throttle && { requests, windowSeconds } };
    return differing(`gateway/contract.json, ${name}`, { by: auth.toSorted(), throttle }, written);
  });
}

/** Returns the values of a rule that are compared, with their defaults. */
function comparable({ by, throttle, ...rule }: FieldRule) {
  const {
    whileSuspended = false,
    whileLimited = false,
    longBody = false,
    sentOnce = false,
    longRunning = false,
    callsPerTenant,
    passedThrough = false,
  } = rule;
  const { changesCaller = 'never', changesTenant = false } = rule;
  const counted = throttle && { failsClosed: false, ...throttle };
  return {
    by: by.toSorted(),
    whileSuspended,
    whileLimited,
    longBody,
    sentOnce,
    longRunning,
    callsPerTenant,
    passedThrough,
    changesCaller,
    changesTenant,
    throttle: counted,
  };
}

function differing<Rule extends object>(what: string, wanted: Rule, found: Rule): string[] {
  const keys = Object.keys(wanted) as (keyof Rule & string)[];
  return keys
    .filter((key) => !isDeepStrictEqual(wanted[key], found[key]))
    .map((key) => `${what}: ${key} is ${JSON.stringify(found[key])}, by the contract ${JSON.stringify(wanted[key])}`);
}
