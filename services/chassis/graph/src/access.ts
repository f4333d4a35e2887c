import type { Caller } from '@parley/kernel/caller';
import { unauthenticated } from '@parley/kernel/errors';
import { defaultFieldResolver, type FieldDefinitionNode, type GraphQLSchema, Kind } from 'graphql';

/** The credentials that an operation may accept, as the contract names them. */
export type CredentialKind = 'JWT' | 'API_KEY' | 'SESSION_TOKEN';

const credentialOf: Partial<Record<Caller['kind'], CredentialKind>> = {
  user: 'JWT',
  apiKey: 'API_KEY',
  session: 'SESSION_TOKEN',
};

/**
 * Checks a caller against the `@access` of a root field.
 * @throws DomainError `unauthenticated` if the field does not accept the caller's credential
 */
export type AccessCheck = (caller: Caller) => void;

/**
 * Returns the check for one root field.
 * @throws Error when the field has no `@access`.
 */
export function accessCheck(type: string, name: string, field: FieldDefinitionNode | undefined | null): AccessCheck {
  const by = credentialsOf(field);
  if (!by) throw new Error(`${type}.${name} has no @access`);
  return ({ kind }) => {
    const credential = credentialOf[kind];
    if (by.length > 0 && !(credential && by.includes(credential))) throw unauthenticated();
  };
}

/** Returns the credentials in the `@access` of a root field; an empty list for a public field; undefined without `@access`. */
function credentialsOf(field: FieldDefinitionNode | undefined | null): CredentialKind[] | undefined {
  const directive = field?.directives?.find(({ name }) => name.value === 'access');
  const by = directive?.arguments?.find(({ name }) => name.value === 'by')?.value;
  if (by?.kind !== Kind.LIST) return undefined;
  return by.values.flatMap((value) => (value.kind === Kind.ENUM ? [value.value as CredentialKind] : []));
}

/**
 * Enforces `@access` of every root field in the subgraph too, in case the gateway has a bug.
 * @throws Error when a root field has no `@access`.
 */
export function enforceAccess<Context extends { caller: Caller }>(schema: GraphQLSchema): GraphQLSchema {
  for (const type of [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]) {
    for (const field of Object.values(type?.getFields() ?? {})) {
      if (!type || field.name.startsWith('_')) continue; // fields of federation, which only the gateway can query
      const check = accessCheck(type.name, field.name, field.astNode);
      const resolve = field.resolve ?? defaultFieldResolver;
      field.resolve = (source, args, context: Context, info) => {
        check(context.caller);
        return resolve(source, args, context, info);
      };
    }
  }
  return schema;
}
