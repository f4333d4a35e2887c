import { join } from 'node:path';
import test from 'ava';
import { down, type FleetOptions, settingsOf, status, up } from './fleet.ts';
import { emptyFolder } from './testing/folder.ts';

test('on another system than Linux each server is left out with the reason, and what is configured is used', async (t) => {
  const folder = emptyFolder(t);
  const said: string[] = [];
  const options: FleetOptions = {
    folders: { data: join(folder, 'data'), tools: join(folder, 'tools') },
    env: { REDIS_URL: 'redis://redis.example:6379' },
    only: ['postgres', 'redis', 'kafka', 's3'],
    signal: new AbortController().signal,
    say: (line) => said.push(line),
    platform: 'darwin',
  };
  const servers = await up(options);
  t.deepEqual(
    servers.map(({ engine, state }) => [engine.name, state]),
    [
      ['postgres', 'unavailable'],
      ['redis', 'configured'],
      ['kafka', 'unavailable'],
      ['s3', 'unavailable'],
    ],
  );
  t.is(said.filter((line) => line.endsWith('left out, this system is not Linux')).length, 3);
  t.deepEqual(settingsOf(servers, options.env), { REDIS_URL: 'redis://redis.example:6379' });
  t.deepEqual(
    (await status(options)).map(({ state }) => state),
    ['down', 'configured', 'down', 'down'],
  );
  t.deepEqual(await down(options), []);
});
