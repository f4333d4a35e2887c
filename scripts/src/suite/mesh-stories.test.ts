import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { root } from '../root.ts';
import { inOneProcess, meshStories, storyFolder } from './mesh-stories.ts';
import { testedWorkspaces } from './workspaces.ts';

/** How a story takes the mesh that runs already. */
const takesRunning = /\b(sharedMesh|sharedCredentialMesh|observedMesh|openMesh)\(/u;
/** How it starts one of its own, or parts of one. */
const startsOwn = /\b(startMesh|localMesh|dataFolder|spawn)\(/u;

const workspace = testedWorkspaces(root).find(({ folder }) => folder === storyFolder);
const textOf = (file: string) => readFileSync(join(root, storyFolder, file), 'utf8');

test('every story is told on the mesh, but for those that say why not', (t) => {
  if (!workspace) return t.fail();
  const { offline, withModel, observed, leftOut } = meshStories(root, workspace);
  const stories = workspace.files.filter((file) => file.startsWith('test/'));
  t.deepEqual([...offline, ...withModel, ...observed, ...leftOut].toSorted(), stories.toSorted());
  t.deepEqual(leftOut.toSorted(), Object.keys(inOneProcess).toSorted(), 'a reason is given for a file that is gone');
  t.true(offline.length > 5 && withModel.length > 3 && observed.length > 0);

  for (const file of [...offline, ...withModel, ...observed]) {
    t.regex(textOf(file), takesRunning, `${file} takes no mesh that runs; see mesh-stories.ts`);
    t.notRegex(textOf(file), startsOwn, `${file} starts a mesh of its own; see mesh-stories.ts`);
  }
  for (const file of leftOut) t.notRegex(textOf(file), takesRunning, `${file} could be told on the mesh`);
});

test('a new story is told on the mesh, with the model that it asks for', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-new-story-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, storyFolder, 'test'), { recursive: true });
  const [silent, asking, watching] = ['test/silent.test.ts', 'test/asking.test.ts', 'test/watching.test.ts'];
  writeFileSync(join(folder, storyFolder, silent), 'const mesh = sharedMesh(test);\n');
  writeFileSync(join(folder, storyFolder, asking), 'const model = sharedModel(test);\n');
  writeFileSync(join(folder, storyFolder, watching), 'const mesh = observedMesh(test);\n');

  const files = [silent, asking, watching, 'test/storage.test.ts', 'src/topics.test.ts'];
  t.deepEqual(meshStories(folder, { name: 'local', folder: storyFolder, files }), {
    offline: [silent],
    withModel: [asking],
    observed: [watching],
    leftOut: ['test/storage.test.ts'],
  });
});
