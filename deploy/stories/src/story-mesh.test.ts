import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '@parley/chassis/testing/eventually';
import { processesOf } from '@parley/scripts/suite/testing/processes';
import { startServers } from '@parley/servers/start-servers';
import { emptyFolder, never } from '@parley/servers/testing/folder';
import { serverTest } from '@parley/servers/testing/server-test';
import test from 'ava';
import { startStoryMesh, storySettings } from './story-mesh.ts';

test('a mesh that cannot come up says why, and leaves nothing', async (t) => {
  const folder = emptyFolder(t);
  const settings = { ...storySettings(), SESSION_LEASE_MS: '-1' };
  await t.throwsAsync(startStoryMesh({ folder, settings, signal: never }), {
    message: /^scripts\/up --mesh did not come up: [^]*SESSION_LEASE_MS: must be above 0/u,
  });
  t.deepEqual(processesOf(folder), []);
});

serverTest(['postgres', 'redis', 'kafka'], 'a process that ends by itself is told when the mesh stops', async (t) => {
  const servers = await startServers({ only: ['postgres', 'redis', 'kafka'] });
  t.teardown(() => servers.stop());
  const folder = emptyFolder(t);
  const interrupted = new AbortController();
  const settings = { ...storySettings(), ...servers.env };
  const start = (name: string, signal = never) => {
    mkdirSync(join(folder, name));
    return startStoryMesh({ folder: join(folder, name), settings, signal });
  };

  const mesh = await start('one');
  t.teardown(() => mesh.stop());
  const told = JSON.parse(readFileSync(mesh.settingsFile, 'utf8'));
  t.like(told, { DATABASE_URL: servers.env.DATABASE_URL, MESH_KEY: settings.MESH_KEY });
  t.true(existsSync(join(told.PARLEY_DATA_DIR, 'addresses.json')));
  const [agent] = processesOf(folder).filter(({ command }) => command.includes('services/agent/src/main.ts'));
  process.kill(agent?.pid ?? 0, 'SIGKILL');
  const log = () => readFileSync(join(told.PARLEY_DATA_DIR, 'mesh/logs/all.log'), 'utf8');
  await eventually('it is started again', () => /agent-\d is back/u.test(log()));

  const problems = await mesh.stop();
  t.is(problems.length, 1, problems.join('\n'));
  t.regex(problems[0] ?? '', /agent-\d has ended \(SIGKILL\)/u);
  t.deepEqual(processesOf(folder), []);

  const cut = start('two', interrupted.signal);
  await eventually('its processes start', () => processesOf(folder).length > 3);
  interrupted.abort();
  await t.throwsAsync(cut, { message: /did not come up/u });
  t.deepEqual(processesOf(folder), []);
});
