import type { GraphServerOptions } from '@parley/kernel/http/listen';
import type { Part } from '@parley/kernel/processes/unit';
import type { SubscriptionField } from '@parley/live/subscriptions/subscription-rpc';

/**
 * The GraphQL of a service: what `subgraphOf` of `@parley/subgraph` returns. Its functions are properties, which the compiler compares
 * strictly, so that one that takes other dependencies than the service has does not compile.
 */
export interface ServiceGraph<Deps> {
  /** Its fields of Subscription, by name. */
  subscriptions?: (deps: Deps) => Record<string, SubscriptionField>;
  /** Makes its GraphQL server. @param served the names of the subscriptions that the service serves. */
  server: (deps: Deps, served: string[], options: GraphServerOptions) => Part;
}
