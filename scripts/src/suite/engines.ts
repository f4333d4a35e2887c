import type { Environment } from '@parley/kernel/settings/config';
import { type RunningServers, startServers } from '@parley/servers/start-servers';
import type { SharedMeshes, SharedMeshesOptions } from '@parley/stories/shared-meshes';
import type { Need } from './workspaces.ts';

/** The running engines and meshes of tests. */
export type Engines = Awaited<ReturnType<typeof startEngines>>;

interface EnginesOptions extends Pick<SharedMeshesOptions, 'signal' | 'say'> {
  needs: Need[];
}

/** Installs and starts the engines and meshes that this run needs. @throws Error if one does not start; all others are then stopped. */
export async function startEngines({ needs, signal, say }: EnginesOptions) {
  const only = needs.filter((need) => need !== 'meshes');
  const servers = only.length > 0 ? await startServers({ only, signal, say }) : undefined;
  try {
    let meshes: SharedMeshes | undefined;
    if (needs.includes('meshes')) {
      // The module is imported only here, because it imports all units, which most runs of a few files do not need.
      const { startSharedMeshes } = await import('@parley/stories/shared-meshes');
      meshes = await startSharedMeshes({ signal, say, servers: servers && (await serversOfMesh(servers)) });
    }
    return {
      /** The settings with the engines' addresses. */
      env: { ...(servers && testSettings(servers)), ...meshes?.env },
      /** Engines that this machine cannot run, one sentence each. */
      missing: (servers?.missing ?? []).map(({ engine, reason }) => `${engine}: ${reason}`),
      /** Stops all engines and meshes. @returns the problems of the meshes, one sentence each. */
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

/** Renames S3_BUCKET to TEST_S3_BUCKET and so on, so that tests never use the engines that a developer has configured for Parley. */
function testSettings({ env, superuserUrl }: RunningServers): Record<string, string> {
  const { DATABASE_URL: _, ...others } = env;
  const named = Object.entries(others).map(([name, value]) => [`TEST_${name}`, value] as const);
  return { ...Object.fromEntries(named), ...(superuserUrl && { TEST_DATABASE_URL: superuserUrl }) };
}

/**
 * Returns the servers with a separate database for the meshes, because tests create schemas in the default one. Undefined if a server other
 * than S3 is missing.
 */
async function serversOfMesh({ env, missing, createDatabase }: RunningServers): Promise<Environment | undefined> {
  if (missing.some(({ engine }) => engine !== 's3')) return undefined;
  return { ...env, DATABASE_URL: await createDatabase('mesh') };
}
