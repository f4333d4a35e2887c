import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { within } from '../timing/timers.ts';

export type Metrics = ReturnType<typeof createMetrics>;

const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

const tokenBuckets = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576];

/** Maximum time in ms to read a gauge. A slower gauge is missing from the exposition, which still has all others. */
const readMs = 1_000;

/** The values of a metric's labels, by name. */
export type Labels = Record<string, string>;

export interface GaugeValue {
  labels: Labels;
  value: number;
}

/** The Prometheus metrics of a unit. Labels never hold user input or the names of tenants. */
export function createMetrics(unit: string) {
  const registry = new Registry();
  registry.setDefaultLabels({ unit });
  // The event loop's delay is measured with this precision in ms; each measured delay includes the precision. At 10, the default, an idle
  // process uses a third of a percent of a core to wake up for the measurement.
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 20 });
  const durations = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
    new Histogram({ name, help, labelNames, buckets, registers: [registry] });
  return {
    registry,
    /** Seconds per gRPC call served, by method and outcome; for a stream, the time from its opening to its end. */
    rpcDuration: durations('parley_rpc_duration_seconds', 'gRPC calls served', ['method', 'outcome']),
    /** Seconds per GraphQL root field served by a subgraph or the gateway, by operation and outcome. */
    graphDuration: durations('parley_graph_duration_seconds', 'GraphQL root fields served', ['operation', 'outcome']),
    durations,
    /** Tokens per call of a language model. */
    tokens: (name: string, help: string, labelNames: string[]) =>
      new Histogram({ name, help, labelNames, buckets: tokenBuckets, registers: [registry] }),
    /** A counter that only this unit has. Its name ends in `_total`. */
    counter(name: string, help: string, labelNames: string[] = []) {
      const counter = new Counter({ name, help, labelNames, registers: [registry] });
      return { add: (labels: Labels = {}, amount = 1) => counter.inc(labels, amount) };
    },
    /** A gauge of one value. */
    gauge(name: string, help: string, read: () => number | Promise<number>): void {
      this.gauges(name, help, [], async () => [{ labels: {}, value: await read() }]);
    },
    /**
     * A gauge that has exactly the values that `read` returns. The gauge has no values while `read` fails or takes longer than a second,
     * e.g. while the database does not respond.
     */
    gauges(name: string, help: string, labelNames: string[], read: () => GaugeValue[] | Promise<GaugeValue[]>): void {
      let reading: Promise<GaugeValue[]> | undefined;
      new Gauge({
        name,
        help,
        labelNames,
        registers: [registry],
        async collect() {
          if (labelNames.length > 0) this.reset();
          else this.remove();
          // Only one read runs at a time, so that scrapes do not take one connection of a pool after another while the database hangs.
          reading ??= Promise.resolve()
            .then(read)
            .finally(() => {
              reading = undefined;
            });
          const values = await within(readMs, name, reading).catch(() => []);
          for (const { labels, value } of values) this.set(labels, value);
        },
      });
    },
  };
}
