import { randomBytes } from 'node:crypto';
import type { Addresses } from '@parley/kernel/processes/addresses';
import { createLogger } from '@parley/kernel/telemetry/log';
import { testDependencies } from '@parley/testing/service-harness';
import test from 'ava';
import { readGatewayConfig } from './config.ts';
import { gateway } from './service.ts';

test('without its servers the gateway opens no port, not even the public one', async (t) => {
  const opened: string[] = [];
  const addresses: Addresses = {
    of: (_unit, endpoint) => (endpoint === 'rpc' ? '127.0.0.1:1' : 'http://127.0.0.1:1'),
    announce: (_unit, endpoint) => void opened.push(endpoint),
    announced: () => ({}),
  };
  const config = readGatewayConfig({
    GATEWAY_PORT: '0',
    GATEWAY_OPS_PORT: '0',
    AVATAR_TOKEN_KEYS: `t1:${randomBytes(32).toString('base64')}`,
  });
  const log = createLogger('gateway', { LOG_LEVEL: 'silent' });
  const started = async (servers: boolean) => {
    const given = testDependencies({ addresses });
    const unit = gateway.unit(config, given, { log, servers });
    t.teardown(() => unit.stop());
    await unit.start();
  };

  await started(false);
  t.deepEqual(opened, []);
  await started(true);
  t.deepEqual(opened, ['ops', 'public']);
});
