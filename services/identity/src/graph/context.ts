import type { GraphContext } from '@parley/subgraph/subgraph';
import type { Ports } from '../ports.ts';

/** The GraphQL context of one request. */
export interface Context extends GraphContext {
  ports: Ports;
}
