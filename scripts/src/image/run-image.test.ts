import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { migrateAll } from '@parley/commands/migrate-all';
import { exec } from '@parley/servers/exec';
import { leftOut } from '@parley/testing/left-out';
import { schemas } from '@parley/units';
import { Client, escapeIdentifier } from 'pg';
import { helm } from '../chart/render.ts';
import { root } from '../root.ts';
import { rpcCommand } from '../rpc/command.ts';
import { testWith } from '../testing/test-with.ts';
import { chartEnvironment } from './testing/chart-environment.ts';
import { imageFolder } from './testing/image-folder.ts';
import { startImage } from './testing/image-process.ts';

const { TEST_DATABASE_URL, TEST_REDIS_URL, TEST_KAFKA_BROKERS } = process.env;
const servers = TEST_DATABASE_URL && TEST_REDIS_URL && TEST_KAFKA_BROKERS;
if (!servers) leftOut('images run - left out: there are no servers (scripts/test scripts/src/image)');
const imageTest = servers ? await testWith(helm) : undefined;

/** Creates an empty database, which is deleted after the test. */
async function emptyDatabase(t: { teardown(end: () => Promise<unknown>): void }, server: string): Promise<string> {
  const name = `image_${randomBytes(4).toString('hex')}`;
  const client = new Client(server);
  await client.connect();
  await client.query(`CREATE DATABASE ${escapeIdentifier(name)}`);
  t.teardown(async () => {
    await client.query(`DROP DATABASE ${escapeIdentifier(name)} WITH (FORCE)`);
    await client.end();
  });
  const url = new URL(server);
  url.pathname = name;
  return url.href;
}

// Tests identity, because it calls no other unit and consumes no events of other tests on these servers. mesh-of-images.test.ts tests all
// units.
imageTest?.('a unit runs from its image alone under the chart, and drains in its grace period', async (t) => {
  t.timeout(180_000);
  const database = await emptyDatabase(t, TEST_DATABASE_URL ?? '');
  const own = schemas.filter(({ name }) => name === 'identity');
  await migrateAll(own, { DATABASE_URL: database }, () => undefined);
  const engines = {
    DATABASE_URL: database,
    REDIS_URL: TEST_REDIS_URL ?? '',
    KAFKA_BROKERS: TEST_KAFKA_BROKERS ?? '',
  };
  const { env, limitMb, ports } = await chartEnvironment('identity', engines);
  const image = startImage(t, await imageFolder(t, ['identity']), { name: 'identity', env, limitMb });

  await image.answers(`http://127.0.0.1:${ports.ops}/readyz`);
  t.is(await exec(process.execPath, [join(root, 'deploy/docker/healthz.mjs')], { env }), '');
  const written = { stdout: '', stderr: '' };
  const terminal = {
    stdout: { write: (text: string) => void (written.stdout += text) },
    stderr: { write: (text: string) => void (written.stderr += text) },
  };
  const call = { positionals: ['identity', 'GetJwks'], numbers: {} };
  const address = { MESH_KEY: env.MESH_KEY, IDENTITY_RPC_URL: `127.0.0.1:${ports.rpc}` };
  t.is(await rpcCommand(call, address, terminal, new AbortController().signal), 0, written.stderr);
  t.regex(written.stdout, /ES256/u);
  const peakMb = image.peakMb();
  t.log(`at most ${peakMb.toFixed()} MB of ${limitMb}`);
  t.true(peakMb < limitMb);

  image.stop();
  t.is(await image.ended, 0, image.output());
});
