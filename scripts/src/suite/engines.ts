import { type RunningServers, startServers } from '@parley/servers/start-servers';
import type { Need } from './workspaces.ts';

/** What tests run on, once it is up. */
export interface Engines {
  /** The settings by which tests find it. */
  env: Record<string, string>;
  /** What this machine cannot have, one sentence each. */
  missing: string[];
  /** What a person may want to know of it. */
  notes: string[];
  /** Stops all. @returns what was wrong with the meshes, one sentence each. */
  stop(): Promise<string[]>;
}

export interface EnginesOptions {
  needs: Need[];
  /** Cuts a start short. */
  signal: AbortSignal;
  say(line: string): void;
}

/** Installs and starts what is needed, for this run alone. @throws Error where something does not start; then nothing is left. */
export async function startEngines({ needs, signal, say }: EnginesOptions): Promise<Engines> {
  const only = needs.filter((need) => need !== 'meshes');
  const servers = only.length > 0 ? await startServers({ only, signal, say }) : undefined;
  try {
    const missing = (servers?.missing ?? []).map(({ engine, reason }) => `${engine}: ${reason}`);
    const processes = !servers?.missing.some(({ engine }) => engine !== 's3');
    const meshes = needs.includes('meshes') ? await startMeshes({ signal, say, processes }) : undefined;
    return {
      env: { ...(servers && testSettings(servers)), ...meshes?.env },
      missing,
      notes: meshes?.notes ?? [],
      async stop() {
        const problems = await meshes?.stop();
        await servers?.stop();
        return problems ?? [];
      },
    };
  } catch (error) {
    await servers?.stop();
    throw error;
  }
}

/** S3_BUCKET is TEST_S3_BUCKET to tests, and so on: what a person has configured for Parley is no engine of tests. */
function testSettings({ env, superuserUrl }: RunningServers): Record<string, string> {
  const { DATABASE_URL: _, ...others } = env;
  const named = Object.entries(others).map(([name, value]) => [`TEST_${name}`, value] as const);
  return { ...Object.fromEntries(named), ...(superuserUrl && { TEST_DATABASE_URL: superuserUrl }) };
}

/** Loads all units only where a mesh is wanted: most runs of a few files want none. */
async function startMeshes(options: { signal: AbortSignal; say(line: string): void; processes: boolean }) {
  const { startSharedMeshes } = await import('@parley/stories/shared-meshes');
  return startSharedMeshes(options);
}
