import type { Callers } from '@parley/kernel/caller';
import type { Logger } from '@parley/kernel/log';
import type { Metrics } from '@parley/kernel/metrics';
import type { Part } from '@parley/kernel/unit';
import type { SubscriptionField } from '@parley/live/subscriptions/subscription-rpc';

/** The GraphQL of a service: what `subgraphOf` of `@parley/subgraph` returns. */
export interface ServiceGraph<Deps> {
  /** Its fields of Subscription, by name. */
  subscriptions?(deps: Deps): Record<string, SubscriptionField>;
  /** Makes its GraphQL server. */
  server(deps: Deps, options: GraphServerOptions): Part;
}

export interface GraphServerOptions {
  unit: string;
  host: string;
  /** Port to listen on; 0 takes any free one. */
  port: number;
  callers: Callers;
  log: Logger;
  metrics: Metrics;
  /** The limit of one answer, in bytes. */
  maxAnswerBytes?: number;
  onListening(url: string): void;
}
