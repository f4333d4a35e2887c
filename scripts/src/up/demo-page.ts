import { join } from 'node:path';
import { type DemoServer, startDemoServer } from '@parley/demo';
import type { Part } from '@parley/kernel/processes/unit';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { createLogger } from '@parley/kernel/telemetry/log';
import { demoSettings } from '@parley/units/command-settings';

/**
 * Serves the page with the chat widget, in development only, because the page has its own API key and anyone on this machine may open it.
 */
export function demoPage(
  env: Environment,
  dataFolder: string,
  { publicUrl, voiceUrl }: { publicUrl(): string; voiceUrl(): string },
) {
  const { port } = readSettings(env, demoSettings);
  let server: DemoServer | undefined;
  return {
    name: 'demo page',
    async start() {
      if (env.NODE_ENV === 'production') return;
      const endpoint = `${publicUrl().replace('127.0.0.1', 'localhost')}/graphql`;
      server = await startDemoServer({
        port,
        endpoint,
        voiceUrl: voiceUrl().replace('127.0.0.1', 'localhost'),
        file: join(dataFolder, 'demo.json'),
        log: createLogger('demo'),
      });
    },
    stop: async () => server?.stop(),
    /** Returns the page's row of the banner. */
    rows: (): [string, string][] => (server ? [['demo page', `${server.url}   (the chat widget in a page)`]] : []),
  } satisfies Part & { rows: () => unknown };
}
