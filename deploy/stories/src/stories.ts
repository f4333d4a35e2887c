import { readFileSync } from 'node:fs';
import { never } from '@parley/servers/testing/folder';
import type { ExecutionContext, TestFn } from 'ava';
import { openMesh, type RunningMesh, type TestMesh } from './mesh.ts';
import type { SharedMeshes } from './shared-meshes.ts';

export interface StoriesOptions {
  /**
   * `each` of the meshes that run, the default; `processes`: only the one of several processes where it runs, for what takes
   * long and asks the same of any; `offline`: one process of the file's own, which has no model but the built-in one.
   */
  on?: 'each' | 'processes' | 'offline';
}

type Story = (t: ExecutionContext, mesh: TestMesh) => unknown;
type Tell = (title: string, story: Story) => void;

/** Registers each story of a file as one test for each mesh that TEST_MESHES names; without it on one of the file's own. */
export function stories(test: TestFn, { on = 'each' }: StoriesOptions = {}): Tell & { serial: Tell } {
  const files = on === 'offline' ? [] : (process.env['TEST_MESHES'] ?? '').split(',').filter(Boolean);
  const running = files.map((file) => {
    const mesh: RunningMesh = JSON.parse(readFileSync(file, 'utf8'));
    return { name: mesh.name, mesh: opened(test, async () => mesh) };
  });
  const meshes = running.length > 0 ? running : [ownMesh(test, on === 'offline')];
  const told = on === 'processes' ? meshes.slice(-1) : meshes;
  const tellBy = (register: TestFn | TestFn['serial']) => (title: string, story: Story) => {
    for (const { name, mesh } of told) register(`${name}: ${title}`, async (t) => void (await story(t, await mesh())));
  };
  return Object.assign(tellBy(test), { serial: tellBy(test.serial) });
}

/** Opened by whichever story asks first, left after the last. @param close answers what was wrong with it. */
function opened(test: TestFn, open: () => Promise<RunningMesh>, close?: () => Promise<string[] | undefined>) {
  let mesh: Promise<TestMesh> | undefined;
  test.after.always('the mesh is left as it has to be', async (t) => {
    await (await mesh)?.leave();
    t.deepEqual((await close?.()) ?? [], []);
  });
  return () => {
    mesh ??= open().then(openMesh);
    return mesh;
  };
}

/** One process, started when the first story asks for it. */
function ownMesh(test: TestFn, offline: boolean) {
  let started: Promise<SharedMeshes> | undefined;
  async function open(): Promise<RunningMesh> {
    // Loaded only here: who comes to a mesh that runs needs none of it.
    const { startSharedMeshes } = await import('./shared-meshes.ts');
    started = startSharedMeshes({ signal: never, say: () => undefined, processes: false, offline });
    return JSON.parse(readFileSync((await started).env.TEST_MESHES, 'utf8'));
  }
  const mesh = opened(test, open, async () => (await started)?.stop());
  return { name: offline ? 'one process, offline' : 'one process', mesh };
}
