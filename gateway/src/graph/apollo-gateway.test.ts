import { createRequire } from 'node:module';
import test from 'ava';
import { ApolloGateway } from './apollo-gateway.ts';

test('the gateway does not load the modules that @apollo/gateway needs only for its own metrics', (t) => {
  const { cache } = createRequire(import.meta.url);
  const loaded = Object.keys(cache).filter((path) => /sdk-metrics|resource-detector|exporter-metrics/u.test(path));
  t.deepEqual(loaded, []);
  t.is(typeof ApolloGateway, 'function');
});
