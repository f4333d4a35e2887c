import type { Caller } from '@parley/kernel/caller';
import { unauthenticated } from '@parley/kernel/errors';
import { defaultFieldResolver, type GraphQLObjectType, type GraphQLSchema, Kind } from 'graphql';

/** The credentials that an operation may accept, as the contract names them. */
export type CredentialKind = 'JWT' | 'API_KEY' | 'SESSION_TOKEN';

const credentialOf: Partial<Record<Caller['kind'], CredentialKind>> = {
  user: 'JWT',
  apiKey: 'API_KEY',
  session: 'SESSION_TOKEN',
};

/** The credentials in `@access` of a root field; empty: public; undefined: it has no `@access`. */
function accessOf(type: GraphQLObjectType, fieldName: string): CredentialKind[] | undefined {
  const directive = type.getFields()[fieldName]?.astNode?.directives?.find(({ name }) => name.value === 'access');
  const by = directive?.arguments?.find(({ name }) => name.value === 'by')?.value;
  if (by?.kind !== Kind.LIST) return undefined;
  return by.values.flatMap((value) => (value.kind === Kind.ENUM ? [value.value as CredentialKind] : []));
}

/**
 * Enforces `@access` of every root field in the subgraph too, in case the gateway is wrong.
 * @throws Error when a root field has no `@access`.
 */
export function enforceAccess<Context extends { caller: Caller }>(schema: GraphQLSchema): GraphQLSchema {
  for (const type of [schema.getQueryType(), schema.getMutationType()]) {
    for (const field of Object.values(type?.getFields() ?? {})) {
      if (!type || field.name.startsWith('_')) continue; // fields of federation, which only the gateway can query
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
