import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

export type Metrics = ReturnType<typeof createMetrics>;

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The Prometheus metrics of a unit. Labels never hold user input or the names of tenants. */
export function createMetrics(unit: string) {
  const registry = new Registry();
  registry.setDefaultLabels({ unit });
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    /** Seconds per gRPC call served, by method and outcome; a stream from open to end. */
    rpcDuration: new Histogram({
      name: 'parley_rpc_duration_seconds',
      help: 'gRPC calls served',
      labelNames: ['method', 'outcome'],
      buckets,
      registers: [registry],
    }),
    /** Seconds per GraphQL root field served by a subgraph or the gateway, by operation and outcome. */
    graphDuration: new Histogram({
      name: 'parley_graph_duration_seconds',
      help: 'GraphQL root fields served',
      labelNames: ['operation', 'outcome'],
      buckets,
      registers: [registry],
    }),
    durations: (name: string, help: string) => new Histogram({ name, help, buckets, registers: [registry] }),
    /** A counter that only this unit has. Its name ends in `_total`. */
    counter(name: string, help: string) {
      const counter = new Counter({ name, help, registers: [registry] });
      return { add: () => counter.inc() };
    },
    gauge(name: string, help: string, read: () => number | Promise<number>): void {
      new Gauge({
        name,
        help,
        registers: [registry],
        async collect() {
          this.set(await read());
        },
      });
    },
  };
}
