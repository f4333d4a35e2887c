import type { GraphServerOptions } from '@parley/kernel/listen';
import type { Part } from '@parley/kernel/unit';
import type { SubscriptionField } from '@parley/live/subscriptions/subscription-rpc';

/** The GraphQL of a service: what `subgraphOf` of `@parley/subgraph` returns. */
export interface ServiceGraph<Deps> {
  /** Its fields of Subscription, by name. */
  subscriptions?(deps: Deps): Record<string, SubscriptionField>;
  /** Makes its GraphQL server. A property, so that the compiler compares `Deps` strictly. @param served the names of the subscriptions that the service serves. */
  server: (deps: Deps, served: string[], options: GraphServerOptions) => Part;
}
