import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startServers } from '@parley/servers/start-servers';
import { serverTest } from '@parley/servers/testing/server-test';
import { units } from '@parley/units';
import { checkPostgres } from './postgres.ts';

serverTest(['postgres'], 'the doctor finds a PostgreSQL that follows another one', async (t) => {
  const servers = await startServers({ only: ['postgres'] });
  t.teardown(() => servers.stop());
  const postgres = servers.server('postgres');
  await postgres.stop();
  // A standby that has no primary waits for one, and allows reads.
  writeFileSync(join(postgres.place.home, 'cluster', 'standby.signal'), '');
  await postgres.start();
  const outcomes = await checkPostgres({
    env: { DATABASE_URL: servers.env.DATABASE_URL },
    units: units.filter(({ name }) => name === 'identity'),
    allUnits: units,
    now: Date.now,
    patienceMs: 20_000,
  });
  t.deepEqual(
    outcomes.filter(({ level }) => level !== 'ok').map(({ check }) => check),
    ['postgres.standby', 'postgres.schema'],
  );
});
