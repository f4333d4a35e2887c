import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { databaseSnapshot } from '@parley/chassis/testing/test-database';
import test from 'ava';
import { addressesFile } from '../src/addresses-file.ts';
import { localMesh } from '../src/mesh.ts';
import { schemas } from '../src/schemas.ts';

test('while a mesh runs, its data folder tells its owner alone where the units are', async (t) => {
  const dataFolder = mkdtempSync(join(tmpdir(), 'parley-addresses-'));
  t.teardown(() => rmSync(dataFolder, { recursive: true }));
  const file = join(dataFolder, addressesFile);
  process.env.LOG_LEVEL ??= 'fatal';
  const mesh = await localMesh(
    { GATEWAY_PORT: '0', STORAGE_PORT: '0' },
    { dataFolder, databaseSnapshot: databaseSnapshot() },
  );

  await mesh.start();
  const { addresses } = mesh.surroundings;
  const told = JSON.parse(readFileSync(file, 'utf8'));
  const mode = statSync(file).mode & 0o777;
  await mesh.stop();

  for (const { name } of schemas) t.is(told[name].rpc, addresses.of(name, 'rpc'));
  t.is(told.gateway.public, mesh.publicUrl());
  t.is(mode, 0o600);
  t.false(existsSync(file));
});
