import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { usesEvents } from '@parley/service/declaration';
import { type ListedUnit, units } from '@parley/units';
import { settingsOfUnit } from '@parley/units/settings';
import test from 'ava';

const root = join(import.meta.dirname, '../../..');

for (const unit of units) {
  const { name, folder, schema, keepsFiles, calls = [] }: ListedUnit = unit;
  test(`${name} alone names all that is wrong with its settings in one message`, async (t) => {
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const child = spawn(process.execPath, [join(root, folder, 'src/main.ts')], {
      env: {
        PATH,
        NODE_COMPILE_CACHE,
        NODE_ENV: 'production',
        NODE_TLS_REJECT_UNAUTHORIZED: '0',
        [`${name.toUpperCase()}_OPS_PORT`]: 'some',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.teardown(() => child.kill('SIGKILL'));
    const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);

    t.is(code, 1);
    t.is(stdout, '');
    t.regex(stderr, /^These settings are wrong:\n(  \w[^\n]*\n)+$/u);
    const database = `DATABASE_URL or ${name.toUpperCase()}_DATABASE_URL`;
    const times = (setting: string) => stderr.split(`\n  ${setting}: `).length - 1;
    for (const setting of [`${name.toUpperCase()}_OPS_PORT`, 'MESH_KEY', 'REDIS_URL', 'NODE_TLS_REJECT_UNAUTHORIZED']) {
      t.is(times(setting), 1, `${setting} in ${stderr}`);
    }
    // A unit does not require the settings of engines that it does not use.
    t.is(times('KAFKA_BROKERS'), usesEvents(unit) ? 1 : 0, stderr);
    t.is(times('S3_ENDPOINT'), keepsFiles ? 1 : 0, stderr);
    const addresses = settingsOfUnit(unit).own.filter(({ name: setting }) => /_(?:RPC|GRAPH|HTTP)_URL$/u.test(setting));
    t.is(addresses.length > 0, calls.length > 0);
    for (const address of addresses) t.is(times(address.name), 1, `${address.name} in ${stderr}`);
    t.is(stderr.includes(`  ${database}: is missing\n`), schema !== undefined, stderr);
  });
}

test('a unit alone warns of a variable with its name that is no setting, and starts all the same', async (t) => {
  const child = spawn(process.execPath, [join(root, 'services/evaluation/src/main.ts')], {
    env: {
      PATH: process.env.PATH,
      MESH_KEY: randomBytes(32).toString('base64'),
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none', // the unit waits for this database until the test ends
      AGENT_RPC_URL: '127.0.0.1:1',
      IDENTITY_RPC_URL: '127.0.0.1:1',
      SESSION_RPC_URL: '127.0.0.1:1',
      EVALUATION_CONCURENCY: '3',
      EVALUATION_DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      SESSION_TURNS: '3', // a setting of another unit
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  for await (const line of createInterface(child.stdout)) {
    const { level, variables } = JSON.parse(line);
    if (variables === undefined) continue;
    t.deepEqual([level, variables], ['warn', { EVALUATION_CONCURENCY: 'EVALUATION_CONCURRENCY' }]);
    return;
  }
  t.fail('it ended without a warning');
});
