import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'ava';

const root = join(import.meta.dirname, '../../..');

for (const name of ['gateway', 'identity', 'agent', 'session', 'evaluation']) {
  test(`${name} alone names all that is wrong with its own settings and its surroundings in one message`, async (t) => {
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    const folder = name === 'gateway' ? name : `services/${name}`;
    const child = spawn(process.execPath, [join(root, folder, 'src/main.ts')], {
      env: { PATH, NODE_COMPILE_CACHE, NODE_ENV: 'production', [`${name.toUpperCase()}_OPS_PORT`]: 'some' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    t.teardown(() => child.kill('SIGKILL'));
    const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);

    t.is(code, 1);
    t.is(stdout, '');
    t.regex(stderr, /^These settings are wrong:\n(  \w[^\n]*\n)+$/u);
    const database = `DATABASE_URL or ${name.toUpperCase()}_DATABASE_URL`;
    for (const setting of [`${name.toUpperCase()}_OPS_PORT`, 'MESH_KEY', 'REDIS_URL', 'KAFKA_BROKERS', 'S3_ENDPOINT']) {
      t.is(stderr.split(`\n  ${setting}: `).length, 2, `${setting} in ${stderr}`);
    }
    t.is(stderr.includes(`  ${database}: is missing\n`), name !== 'gateway', stderr);
  });
}
