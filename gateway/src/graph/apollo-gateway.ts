import Module, { createRequire } from 'node:module';

/**
 * Modules that `@apollo/gateway` loads for metrics, for composing and fetching supergraphs, and for calling subgraphs. The gateway uses
 * none of them; they would take 15 MB, and be a tenth of all modules that a process loads.
 */
const unused = [
  '@apollo/composition',
  '@opentelemetry/exporter-metrics-otlp-http',
  '@opentelemetry/resource-detector-alibaba-cloud',
  '@opentelemetry/resource-detector-aws',
  '@opentelemetry/resource-detector-azure',
  '@opentelemetry/resource-detector-gcp',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-metrics',
  '@opentelemetry/semantic-conventions/incubating',
  'make-fetch-happen',
];

/** Loads `@apollo/gateway` with empty modules in place of the unused ones. */
function load(): typeof import('@apollo/gateway') {
  const require = createRequire(import.meta.url);
  const { cache, resolve } = createRequire(require.resolve('@apollo/gateway'));
  const placeholders = unused.map((name) => resolve(name)).filter((path) => cache[path] === undefined);
  for (const path of placeholders) cache[path] = Object.assign(new Module(path), { loaded: true });
  try {
    return require('@apollo/gateway');
  } finally {
    // Any other importer gets the real module.
    for (const path of placeholders) delete cache[path];
  }
}

export const { ApolloGateway } = load();
export type ApolloGateway = InstanceType<typeof ApolloGateway>;
