import type { EngineName } from '@parley/servers/engine';
import { down, type FleetOptions, settingsOf, status, up } from '@parley/servers/fleet';

/** Without S3 nobody can keep a file, and all else works. */
const needed: EngineName[] = ['postgres', 'redis', 'kafka'];

/**
 * Starts the servers that the mesh stands on and that are not up or configured already. Those that it starts end with this
 * process, however that ends: none is left by a kill.
 * @throws Error that says which of the needed ones this machine cannot have, and why; then none is left that was started.
 */
export async function startMeshServers(options: FleetOptions) {
  const running = (await status(options)).flatMap(({ engine, state }) => (state === 'up' ? [engine.name] : []));
  const ours = options.only.filter((name) => !running.includes(name));
  /** Stops those that were not up before. */
  const stop = async () => void (await down({ ...options, only: ours, signal: new AbortController().signal }));
  try {
    const servers = await up({ ...options, endWithParent: true });
    const absent = servers.flatMap((server) =>
      'reason' in server && needed.includes(server.engine.name) ? [`${server.engine.title}: ${server.reason}`] : [],
    );
    if (absent.length > 0) throw new Error(`The mesh needs these servers:\n  ${absent.join('\n  ')}`);
    /** Which server does what, for the banner. */
    const shown = servers.map((server): [string, string] => {
      const { title, setting, name } = server.engine;
      if (server.state !== 'up') return [title, 'reason' in server ? `left out, ${server.reason}` : setting];
      return [
        title,
        `127.0.0.1:${server.place.ports.main}${running.includes(name) ? ', was up before and stays' : ''}`,
      ];
    });
    return { env: settingsOf(servers, options.env), shown, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
