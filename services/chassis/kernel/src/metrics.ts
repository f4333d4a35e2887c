import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** The Prometheus metrics of a unit. Labels never hold user input or the names of tenants. */
export interface Metrics {
  registry: Registry;
  /** Seconds per gRPC call served, by method and outcome; a stream from open to end. */
  rpcDuration: Histogram<'method' | 'outcome'>;
  /** Seconds per GraphQL root field served by a subgraph or the gateway, by operation and outcome. */
  graphDuration: Histogram<'operation' | 'outcome'>;
  durations(name: string, help: string): { observe(seconds: number): void };
  /** A counter that only this unit has. Its name ends in `_total`. */
  counter(name: string, help: string): { add(): void };
  gauge(name: string, help: string, read: () => number | Promise<number>): void;
}

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function createMetrics(unit: string): Metrics {
  const registry = new Registry();
  registry.setDefaultLabels({ unit });
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    rpcDuration: new Histogram({
      name: 'parley_rpc_duration_seconds',
      help: 'gRPC calls served',
      labelNames: ['method', 'outcome'],
      buckets,
      registers: [registry],
    }),
    graphDuration: new Histogram({
      name: 'parley_graph_duration_seconds',
      help: 'GraphQL root fields served',
      labelNames: ['operation', 'outcome'],
      buckets,
      registers: [registry],
    }),
    durations: (name, help) => new Histogram({ name, help, buckets, registers: [registry] }),
    counter(name, help) {
      const counter = new Counter({ name, help, registers: [registry] });
      return { add: () => counter.inc() };
    },
    gauge(name, help, read) {
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
