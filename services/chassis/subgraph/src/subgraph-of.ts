import { readFileSync } from 'node:fs';
import { accessCheck } from '@parley/graph/access';
import type { GraphServerOptions } from '@parley/kernel/http/listen';
import type { Part } from '@parley/kernel/processes/unit';
import type { SubscriptionField } from '@parley/live/subscriptions/subscription-rpc';
import { type FieldDefinitionNode, Kind, parse } from 'graphql';
import { type GraphContext, type PortsContext, type SubgraphOptions, subgraph } from './subgraph.ts';

export interface SubgraphDefinition<Deps, Context extends GraphContext> {
  /** The URL of the service's `schema.graphql`. */
  schema: URL;
  resolvers: SubgraphOptions<Context>['resolvers'];
  /** The service's subscription fields, by name. Gateways read them through gRPC, so the service needs `rpc`. */
  subscriptions?(deps: Deps): Record<string, SubscriptionField>;
  /** Makes the context of a request. Default: `PortsContext`, with the dependencies as its `ports`. */
  context(deps: Deps): SubgraphOptions<Context>['context'];
}

type WithoutContext<Ports> = Omit<SubgraphDefinition<Ports, PortsContext<Ports>>, 'context'> & { context?: never };

interface Subgraph<Deps> {
  subscriptions?(deps: Deps): Record<string, SubscriptionField>;
  /** Makes the server. @throws Error if the schema's subscriptions differ from the code's */
  server(deps: Deps, subscribable: string[], options: GraphServerOptions): Part;
}

/** Makes the `graph` of a service: its subgraph, and its subscription fields. */
export function subgraphOf<Ports>(definition: WithoutContext<Ports>): Subgraph<Ports>;
export function subgraphOf<Deps, Context extends GraphContext>(
  definition: SubgraphDefinition<Deps, Context>,
): Subgraph<Deps>;
export function subgraphOf<Deps>({
  schema,
  resolvers,
  subscriptions,
  context = (ports: Deps) => (request) => ({ ...request, ports }),
}: WithoutContext<Deps> | SubgraphDefinition<Deps, PortsContext<Deps>>): Subgraph<Deps> {
  return {
    ...(subscriptions && {
      subscriptions: (deps: Deps) => withAccess(subscriptions(deps), readFileSync(schema, 'utf8')),
    }),
    server(deps, subscribable, options) {
      const typeDefs = readFileSync(schema, 'utf8');
      const declared = subscriptionsOf(typeDefs)
        .map(({ name }) => name.value)
        .sort()
        .join();
      const served = subscribable.toSorted().join();
      if (declared !== served)
        throw new Error(`${options.unit}: its schema has the subscriptions "${declared}", it serves "${served}"`);
      return subgraph<PortsContext<Deps>>({ ...options, typeDefs, resolvers, context: context(deps) });
    },
  };
}

/** Returns the fields, each restricted to the callers that its `@access` accepts. */
function withAccess(fields: Record<string, SubscriptionField>, typeDefs: string): Record<string, SubscriptionField> {
  const declared = subscriptionsOf(typeDefs);
  const guarded = Object.entries(fields).map(([name, field]): [string, SubscriptionField] => {
    const definition = declared.find((each) => each.name.value === name);
    return [
      name,
      (args, call) => {
        accessCheck('Subscription', name, definition)(call.caller);
        return field(args, call);
      },
    ];
  });
  return Object.fromEntries(guarded);
}

function subscriptionsOf(typeDefs: string): FieldDefinitionNode[] {
  const definitions = typeDefs === '' ? [] : parse(typeDefs, { noLocation: true }).definitions;
  return definitions.flatMap((each) => {
    const isObject = each.kind === Kind.OBJECT_TYPE_DEFINITION || each.kind === Kind.OBJECT_TYPE_EXTENSION;
    return isObject && each.name.value === 'Subscription' ? (each.fields ?? []) : [];
  });
}
