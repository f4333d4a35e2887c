import { readFileSync } from 'node:fs';
import { never } from '@parley/servers/testing/folder';
import type { ExecutionContext, TestFn } from 'ava';
import { openMesh, type RunningMesh, type TestMesh } from './mesh.ts';
import type { SharedMeshes } from './shared-meshes.ts';

export interface StoriesOptions {
  /**
   * On which mesh each story is told, once. `one process`, the default: what it shows is the same on any mesh. `processes`: it
   * depends on several processes or on real engines, as order, takeover, live events, limits that replicas share and
   * revocations do; where that mesh does not run, on the one that does. `offline`: one process of the file's own, which has no
   * model but the built-in one.
   */
  on?: 'one process' | 'processes' | 'offline';
}

type Story = (t: ExecutionContext, mesh: TestMesh) => unknown;
type Tell = (title: string, story: Story) => void;

/**
 * Registers each story of a file as one test on one of the meshes that TEST_MESHES names; without it on one of the file's own.
 * `each` tells a story on every mesh that runs: only for what shows that a mesh works as a whole.
 */
export function stories(
  test: TestFn,
  { on = 'one process' }: StoriesOptions = {},
): Tell & Record<'serial' | 'each', Tell> {
  const files = on === 'offline' ? [] : (process.env['TEST_MESHES'] ?? '').split(',').filter(Boolean);
  const running = files.map((file) => {
    const mesh: RunningMesh = JSON.parse(readFileSync(file, 'utf8'));
    return { name: mesh.name, mesh: opened(test, async () => mesh) };
  });
  const meshes = running.length > 0 ? running : [ownMesh(test, on === 'offline')];
  // The one process comes first.
  const chosen = on === 'processes' ? meshes.slice(-1) : meshes.slice(0, 1);
  const tellBy =
    (register: TestFn | TestFn['serial'], told = chosen) =>
    (title: string, story: Story) => {
      for (const { name, mesh } of told)
        register(`${name}: ${title}`, async (t) => void (await story(t, await mesh())));
    };
  return Object.assign(tellBy(test), { serial: tellBy(test.serial), each: tellBy(test, meshes) });
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
