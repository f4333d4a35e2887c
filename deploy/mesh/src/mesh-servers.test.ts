import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type FleetOptions, status, up } from '@parley/servers/fleet';
import { foldersOf } from '@parley/servers/folders';
import { serverTest } from '@parley/servers/testing/server-test';
import { startMeshServers } from './mesh-servers.ts';

serverTest(['redis'], "a mesh that uses another Redis leaves the checkout's own one running", async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'parley-mesh-servers-'));
  t.teardown(() => rmSync(data, { recursive: true, force: true }));
  const own: FleetOptions = {
    folders: { tools: foldersOf(process.env).tools, data },
    env: {},
    only: ['redis'],
    signal: new AbortController().signal,
    say: () => {},
    endWithParent: true,
    disposable: true,
  };
  const [redis] = await up(own);
  if (redis?.state !== 'up') throw new Error(`Redis is not up: ${redis?.note}`);
  t.teardown(() => process.kill(redis.pid, 'SIGKILL'));

  const foreign = { ...own, env: { REDIS_URL: 'redis://elsewhere:6379' } };
  const servers = await startMeshServers(foreign);
  t.like(servers.env, { REDIS_URL: 'redis://elsewhere:6379' });
  await servers.stop();
  t.like(await status(own), [{ state: 'up', pid: redis.pid }]);
});
