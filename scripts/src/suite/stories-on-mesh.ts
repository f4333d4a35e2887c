import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EngineName } from '@parley/servers/engine';
import { engines } from '@parley/servers/fleet';
import { type RunningServers, startServers } from '@parley/servers/start-servers';
import { observedSettings, scriptedModelSettings, startStoryMesh, storySettings } from '@parley/stories/story-mesh';
import { inOneProcess, type MeshStories, meshStories } from './mesh-stories.ts';
import { leftOut, type Outcome, type Step, tests } from './steps.ts';
import type { Workspace } from './workspaces.ts';

export interface StoriesOnMeshOptions {
  root: string;
  /** That of the stories, with those of its files that are wanted. */
  workspace: Workspace;
  /** Whether a machine that cannot have an engine fails. */
  ci: boolean;
  /** Resolves when the programs of the servers have been installed, or could not be. */
  installed: Promise<unknown>;
  /** Cuts short what is under way. */
  signal: AbortSignal;
  /** Default: those that can be had on this machine. */
  start?: typeof startServers;
}

/** Without S3 nobody can keep a file, and all stories of today can be told. */
const needed: EngineName[] = ['postgres', 'redis', 'kafka'];

/**
 * The step that tells the stories on real engines and a mesh of processes, which it starts by `scripts/up --mesh` on servers of
 * its own, configured as the stories want it. Undefined where none of the wanted ones is told there.
 */
export function storiesOnMesh(options: StoriesOnMeshOptions): Step | undefined {
  const stories = meshStories(options.root, options.workspace);
  if (filesOf(stories).length === 0) return undefined;
  return { name: 'stories on the mesh', run: () => tell(stories, options) };
}

async function tell(stories: MeshStories, options: StoriesOnMeshOptions): Promise<Outcome> {
  const { start = startServers, signal } = options;
  await options.installed;
  let servers: RunningServers | undefined;
  try {
    servers = await start({ signal });
    const absent = servers.missing.map(({ engine, reason }) => `${titleOf(engine)}: ${reason}`);
    if (servers.missing.some(({ engine }) => needed.includes(engine))) return withoutMesh(stories, absent, options.ci);
    const there = engines.filter(({ name }) => !servers?.missing.some(({ engine }) => engine === name));
    const settings = { ...storySettings(), ...servers.env }; // one after the other, both have the same data
    const outcomes = [
      await onOneMesh(stories.offline, settings, options),
      await onOneMesh(stories.withModel, { ...settings, ...(await scriptedModelSettings()) }, options),
      // What a mesh tells of itself it tells of one file.
      ...(await inTurn(stories.observed, async (file) =>
        onOneMesh([file], { ...settings, ...(await observedSettings()) }, options),
      )),
      ...(options.ci && absent.length > 0 ? [failure(`CI has every engine\n${absent.join('\n')}`)] : []),
    ];
    return {
      ...sum(outcomes),
      engines: `${there.map(({ title }) => title).join(', ')}, eight processes`,
      notes: [...absent.map((line) => `without ${line}`), ...inOneProcessNotes(stories)],
    };
  } catch (error) {
    return failure(error instanceof Error ? error.message : String(error));
  } finally {
    await servers?.stop();
  }
}

/** Tells these stories on a mesh that is there for them alone. */
async function onOneMesh(
  files: string[],
  settings: Record<string, string>,
  { root, workspace, signal }: StoriesOnMeshOptions,
): Promise<Outcome> {
  if (files.length === 0) return sum([]);
  const folder = mkdtempSync(join(tmpdir(), 'parley-stories-'));
  try {
    const mesh = await startStoryMesh({ folder, settings, signal });
    try {
      // One file after the other: each has the scripted model's port to itself.
      const env = async () => ({ TEST_MESH: mesh.settingsFile });
      const outcome = await tests(root, { ...workspace, files }, { env, concurrency: 1 }).run();
      const problems = await mesh.stop();
      const told = sum([outcome, ...problems.map(failure)]);
      return told.failed === 0 ? told : { ...told, output: `${told.output}\n\nThe mesh logged:\n${mesh.complaints()}` };
    } finally {
      await mesh.stop();
    }
  } catch (error) {
    return failure(error instanceof Error ? error.message : String(error));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function withoutMesh(stories: MeshStories, absent: string[], ci: boolean): Outcome {
  const output = `${leftOut}the mesh needs servers that this machine cannot have\n${absent.join('\n')}`;
  if (ci) return failure(output);
  return { passed: 0, failed: 0, skipped: filesOf(stories).length, output };
}

function inOneProcessNotes(stories: MeshStories): string[] {
  return stories.leftOut.map((file) => `only in one process: ${file} (${inOneProcess[file]})`);
}

async function inTurn<T, U>(items: T[], work: (item: T) => Promise<U>): Promise<U[]> {
  const done: U[] = [];
  for (const item of items) done.push(await work(item));
  return done;
}

function filesOf({ offline, withModel, observed }: MeshStories): string[] {
  return [...offline, ...withModel, ...observed];
}

function titleOf(name: EngineName): string {
  return engines.find((engine) => engine.name === name)?.title ?? name;
}

function failure(output: string): Outcome {
  return { passed: 0, failed: 1, skipped: 0, output };
}

function sum(outcomes: Outcome[]): Outcome {
  const total = (count: 'passed' | 'failed' | 'skipped') => outcomes.reduce((all, each) => all + each[count], 0);
  const output = outcomes.flatMap((each) => (each.failed > 0 ? [each.output.trim()] : [])).join('\n\n');
  return { passed: total('passed'), failed: total('failed'), skipped: total('skipped'), output };
}
