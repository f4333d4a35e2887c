import { readFileSync } from 'node:fs';
import { unabortedSignal } from '@parley/servers/testing/folder';
import type { ExecutionContext, TestFn } from 'ava';
import pLimit from 'p-limit';
import { openMesh, type RunningMesh, type TestMesh } from './mesh.ts';
import type { SharedMeshes } from './shared-meshes.ts';

export interface StoriesOptions {
  /**
   * The mesh on which each story runs once. Default `one process`.
   * - `one process` is for stories whose result is the same on any mesh.
   * - `processes` is for stories that need several processes or real engines, e.g. to test order, takeover, live events, shared limits or
   *   revocations. If no mesh of several processes is running, these stories run on the mesh in one process.
   * - `offline` starts a separate one-process mesh for the file. This mesh has only the built-in model.
   */
  on?: 'one process' | 'processes' | 'offline';
}

type Story = (t: ExecutionContext, mesh: TestMesh) => unknown;
type RegisterStory = (title: string, story: Story) => void;

/**
 * Ava starts all stories at once. On a slow machine, a hundred concurrent sign-ups would overload the mesh in one process, and its calls
 * would time out. This limit prevents such an overload.
 */
const limited = pLimit(8);

/**
 * Returns a function that registers each story of a file as a test on one of the meshes that TEST_MESHES names, or, without TEST_MESHES, on
 * a mesh of the file itself. `each` runs a story on every mesh: use it only for stories that show that a mesh works as a whole.
 */
export function stories(
  test: TestFn,
  { on = 'one process' }: StoriesOptions = {},
): RegisterStory & Record<'serial' | 'each', RegisterStory> {
  const files = on === 'offline' ? [] : (process.env['TEST_MESHES'] ?? '').split(',').filter(Boolean);
  const running = files.map((file) => {
    const mesh: RunningMesh = JSON.parse(readFileSync(file, 'utf8'));
    return { name: mesh.name, mesh: opened(test, async () => mesh) };
  });
  const meshes = running.length > 0 ? running : [ownMesh(test, on === 'offline')];
  // In `meshes`, the mesh in one process comes first.
  const chosen = on === 'processes' ? meshes.slice(-1) : meshes.slice(0, 1);
  const registerWith =
    (register: TestFn | TestFn['serial'], targets = chosen) =>
    (title: string, story: Story) => {
      for (const { name, mesh } of targets)
        register(`${name}: ${title}`, (t) => limited(async () => void (await story(t, await mesh()))));
    };
  return Object.assign(registerWith(test), { serial: registerWith(test.serial), each: registerWith(test, meshes) });
}

/** Opens a mesh for the first story, and disconnects after the last one. @param close resolves with the problems found */
function opened(test: TestFn, open: () => Promise<RunningMesh>, close?: () => Promise<string[] | undefined>) {
  let mesh: Promise<TestMesh> | undefined;
  test.after.always('the mesh has no problems at the end', async (t) => {
    await (await mesh)?.leave();
    t.deepEqual((await close?.()) ?? [], []);
  });
  return () => {
    mesh ??= open().then(openMesh);
    return mesh;
  };
}

/** Declares a one-process mesh that starts when the first story needs it. */
function ownMesh(test: TestFn, offline: boolean) {
  let started: Promise<SharedMeshes> | undefined;
  async function open(): Promise<RunningMesh> {
    // The module is imported only here, because files that use a shared mesh do not need it.
    const { startSharedMeshes } = await import('./shared-meshes.ts');
    started = startSharedMeshes({ signal: unabortedSignal, say: () => undefined, offline });
    return JSON.parse(readFileSync((await started).env.TEST_MESHES, 'utf8'));
  }
  const mesh = opened(test, open, async () => (await started)?.stop());
  return { name: offline ? 'one process, offline' : 'one process', mesh };
}
