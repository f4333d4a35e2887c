import type { Caller } from '@parley/kernel/caller';
import { unauthenticated } from '@parley/kernel/errors';
import { defaultFieldResolver, type GraphQLObjectType, type GraphQLSchema, Kind } from 'graphql';

/** The contract's names of the credentials that an operation may take. */
export type CredentialKind = 'JWT' | 'API_KEY' | 'SESSION_TOKEN';

/** What each kind of credential makes of a caller. */
export const credentialOf: Partial<Record<Caller['kind'], CredentialKind>> = {
  user: 'JWT',
  apiKey: 'API_KEY',
  session: 'SESSION_TOKEN',
};

/** What `@access` says of a root field; `undefined` when it stands there without one. Empty: public. */
export function accessOf(type: GraphQLObjectType, fieldName: string): CredentialKind[] | undefined {
  const directive = type.getFields()[fieldName]?.astNode?.directives?.find(({ name }) => name.value === 'access');
  const by = directive?.arguments?.find(({ name }) => name.value === 'by')?.value;
  if (by?.kind !== Kind.LIST) return undefined;
  return by.values.flatMap((value) => (value.kind === Kind.ENUM ? [value.value as CredentialKind] : []));
}

/**
 * Holds every root field of a subgraph to its `@access` once more behind the gateway, so that a mistake there opens nothing.
 * @throws Error when a root field has no `@access`.
 */
export function enforceAccess<Context extends { caller: Caller }>(schema: GraphQLSchema): GraphQLSchema {
  for (const type of [schema.getQueryType(), schema.getMutationType()]) {
    for (const field of Object.values(type?.getFields() ?? {})) {
      if (!type || field.name.startsWith('_')) continue; // federation's own: only the gateway can ask for them
      const by = accessOf(type, field.name);
      if (!by) throw new Error(`${type.name}.${field.name} has no @access`);
      const resolve = field.resolve ?? defaultFieldResolver;
      field.resolve = (source, args, context: Context, info) => {
        const credential = credentialOf[context.caller.kind];
        if (by.length > 0 && !(credential && by.includes(credential))) throw unauthenticated();
        return resolve(source, args, context, info);
      };
    }
  }
  return schema;
}
