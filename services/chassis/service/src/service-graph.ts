import type { GraphServerOptions } from '@parley/kernel/http/listen';
import type { Part } from '@parley/kernel/processes/unit';
import type { SubscriptionField } from '@parley/live/subscriptions/subscription-rpc';

/**
 * The GraphQL of a service, as returned by `subgraphOf` of `@parley/subgraph`. Functions are declared as properties, which the compiler
 * checks strictly, so that a mismatch with the service's dependencies does not compile.
 */
export interface ServiceGraph<Deps> {
  /** The service's subscription fields, by name. */
  subscriptions?: (deps: Deps) => Record<string, SubscriptionField>;
  /**
   * Makes the service's GraphQL server.
   * @param served the names of the subscriptions that the service serves.
   */
  server: (deps: Deps, served: string[], options: GraphServerOptions) => Part;
}
