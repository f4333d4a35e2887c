import { randomBytes } from 'node:crypto';
import { SettingsError } from '@parley/kernel/settings/config';
import test from 'ava';
import { readAgentConfig } from './config.ts';

test('only SECRETS_KEYS is required', (t) => {
  const error = t.throws(() => readAgentConfig({}), { instanceOf: SettingsError });
  t.deepEqual(error.problems, ['SECRETS_KEYS: is missing']);
  const config = readAgentConfig({ SECRETS_KEYS: randomBytes(32).toString('base64') });
  t.like(config, { rpcPort: 0, graphPort: 0, opsPort: 0 });
  t.deepEqual(config.models.providers, []);
});

test('an error names every invalid setting', (t) => {
  const error = t.throws(
    () =>
      readAgentConfig({
        AGENT_RPC_PORT: 'x',
        AGENT_LIPSYNC_DOCS_URL: 'ftp://a',
        HOSTED_SMALL_MODEL_URL: 'nowhere',
        LLM_PRICES_FILE: '/nowhere',
      }),
    { instanceOf: SettingsError },
  );
  for (const name of ['AGENT_RPC_PORT', 'AGENT_LIPSYNC_DOCS_URL', 'HOSTED_SMALL_MODEL_URL', 'LLM_PRICES_FILE']) {
    t.true(error.message.includes(name), name);
  }
});

test('AGENT_IDEMPOTENCY_LEASE_MS is 1 second to 10 minutes', (t) => {
  const read = (ms: string) => () =>
    readAgentConfig({ SECRETS_KEYS: randomBytes(32).toString('base64'), AGENT_IDEMPOTENCY_LEASE_MS: ms });
  for (const ms of ['1000', '600000']) t.notThrows(read(ms));
  for (const ms of ['999', '600001', '0']) t.throws(read(ms), { message: /AGENT_IDEMPOTENCY_LEASE_MS: must be/u }, ms);
});
