import { readFileSync } from 'node:fs';
import { never } from '@parley/servers/testing/folder';
import type { ExecutionContext, TestFn } from 'ava';
import pLimit from 'p-limit';
import { openMesh, type RunningMesh, type TestMesh } from './mesh.ts';
import type { SharedMeshes } from './shared-meshes.ts';

export interface StoriesOptions {
  /**
   * The mesh that each story runs on, once. `one process`, the default: what it shows is the same on any mesh. `processes`: it
   * depends on several processes or on real engines, as order, takeover, live events, limits that replicas share and
   * revocations do; where that mesh does not run, on the one that does. `offline`: one process of the file's own, which has no
   * model but the built-in one.
   */
  on?: 'one process' | 'processes' | 'offline';
}

type Story = (t: ExecutionContext, mesh: TestMesh) => unknown;
type RegisterStory = (title: string, story: Story) => void;

/**
 * Ava begins all stories at once. On a slow machine a hundred sign-ups would then keep the one process from answering anything
 * within the timeouts of its own calls.
 */
const inTurn = pLimit(8);

/**
 * Registers each story of a file as one test on one of the meshes that TEST_MESHES names; without it on one of the file's own.
 * `each` runs a story on every mesh: only for stories that show that a mesh works as a whole.
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
  // The mesh in one process comes first.
  const chosen = on === 'processes' ? meshes.slice(-1) : meshes.slice(0, 1);
  const registerWith =
    (register: TestFn | TestFn['serial'], targets = chosen) =>
    (title: string, story: Story) => {
      for (const { name, mesh } of targets)
        register(`${name}: ${title}`, (t) => inTurn(async () => void (await story(t, await mesh()))));
    };
  return Object.assign(registerWith(test), { serial: registerWith(test.serial), each: registerWith(test, meshes) });
}

/** Opened by the first story, left after the last. @param close resolves with the problems found. */
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

/** One process, started when the first story asks for it. */
function ownMesh(test: TestFn, offline: boolean) {
  let started: Promise<SharedMeshes> | undefined;
  async function open(): Promise<RunningMesh> {
    // Loaded only here: a file that uses a shared mesh does not need it.
    const { startSharedMeshes } = await import('./shared-meshes.ts');
    started = startSharedMeshes({ signal: never, say: () => undefined, offline });
    return JSON.parse(readFileSync((await started).env.TEST_MESHES, 'utf8'));
  }
  const mesh = opened(test, open, async () => (await started)?.stop());
  return { name: offline ? 'one process, offline' : 'one process', mesh };
}
