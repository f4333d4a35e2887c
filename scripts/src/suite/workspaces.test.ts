import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { root } from '../root.ts';
import { testedWorkspaces } from './workspaces.ts';

test('every workspace with tests is found, with its files', (t) => {
  const workspaces = testedWorkspaces(root);
  const scripts = workspaces.find(({ name }) => name === 'scripts');

  t.true(scripts?.files.includes('src/suite/workspaces.test.ts'));
  t.true(workspaces.some(({ folder }) => folder === 'services/chassis'));
  for (const { folder, files } of workspaces) for (const file of files) t.true(existsSync(join(root, folder, file)));
});
