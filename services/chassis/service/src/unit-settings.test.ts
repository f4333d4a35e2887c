import { randomBytes } from 'node:crypto';
import { readSettings } from '@parley/kernel/config';
import { listSettings } from '@parley/kernel/settings';
import { databaseSettings, dataSettings, unitProcessSettings } from '@parley/kernel/shared-settings';
import test from 'ava';
import { settingsOfProcess } from './unit-settings.ts';

const meshKey = { MESH_KEY: randomBytes(32).toString('base64') };

test('the list of a process has exactly the settings that it reads', (t) => {
  const unit = { name: 'kitchen', settings: {}, calls: ['cellar'] };
  const schema = { name: 'kitchen', migrations: [], tables: {} };
  const names = ({ own, shared }: ReturnType<typeof settingsOfProcess>) =>
    [own, shared].map((all) => all.map(({ name }) => name));

  const [own = [], shared = []] = names(settingsOfProcess({ ...unit, schema }, ['garden']));
  t.deepEqual(own, ['CELLAR_RPC_URL', 'GARDEN_GRAPH_URL', 'KITCHEN_DATABASE_URL', 'KITCHEN_MIGRATIONS_DATABASE_URL']);
  const read = new Set<string>();
  const env = new Proxy<Record<string, string>>(meshKey, {
    get: (target, name: string) => (read.add(name), target[name]),
  });
  readSettings(env, { ...unitProcessSettings, ...dataSettings });
  t.deepEqual(shared.toSorted(), [...read, 'DATABASE_URL', 'MIGRATIONS_DATABASE_URL'].toSorted());

  const [, without = []] = names(settingsOfProcess(unit, ['garden']));
  t.deepEqual(
    shared.filter((name) => !without.includes(name)),
    [...listSettings(dataSettings), ...listSettings(databaseSettings('kitchen').shared)].map(({ name }) => name),
  );
});
