import { readFileSync } from 'node:fs';
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

/** Where stories are told: a mesh that runs, or one that is started when the first of them is told. */
interface Stage {
  name: string;
  open(): Promise<RunningMesh>;
  /** @returns what was wrong with it. */
  close(): Promise<string[]>;
}

/** Registers each story of a file as one test for each mesh that TEST_MESHES names; without it on one of the file's own. */
export function stories(test: TestFn, { on = 'each' }: StoriesOptions = {}): Tell & { serial: Tell } {
  const files = (process.env['TEST_MESHES'] ?? '').split(',').filter(Boolean);
  const running = files.map((file): Stage => {
    const mesh: RunningMesh = JSON.parse(readFileSync(file, 'utf8'));
    return { name: mesh.name, open: async () => mesh, close: async () => [] };
  });
  const stages = running.length === 0 || on === 'offline' ? [ownMesh(on === 'offline')] : running;
  const told = (on === 'processes' ? stages.slice(-1) : stages).map((stage) => ({
    name: stage.name,
    mesh: opened(test, stage),
  }));
  const tellBy = (register: TestFn | TestFn['serial']) => (title: string, story: Story) => {
    for (const { name, mesh } of told) register(`${name}: ${title}`, async (t) => void (await story(t, await mesh())));
  };
  return Object.assign(tellBy(test), { serial: tellBy(test.serial) });
}

/** Opened by whichever story asks first, left after the last. */
function opened(test: TestFn, { open, close }: Stage): () => Promise<TestMesh> {
  let mesh: Promise<TestMesh> | undefined;
  test.after.always('the mesh is left as it has to be', async (t) => {
    await (await mesh)?.leave();
    t.deepEqual(await close(), []);
  });
  return () => {
    mesh ??= open().then(openMesh);
    return mesh;
  };
}

function ownMesh(offline: boolean): Stage {
  let started: Promise<SharedMeshes> | undefined;
  return {
    name: offline ? 'one process, offline' : 'one process',
    async open() {
      // Loaded only here: who comes to a mesh that runs needs none of it.
      const { startSharedMeshes } = await import('./shared-meshes.ts');
      const { signal } = new AbortController();
      started = startSharedMeshes({ signal, say: () => undefined, processes: false, offline });
      const { env } = await started;
      return JSON.parse(readFileSync(env.TEST_MESHES ?? '', 'utf8'));
    },
    close: async () => (await (await started)?.stop()) ?? [],
  };
}
