import { type RunningServers, startServers } from '@parley/servers/start-servers';
import type { Outcome, Step } from './steps.ts';

/** Servers of the run's own, for the tests that want a real PostgreSQL, Redis, Kafka or S3. */
export interface RealEngines {
  /** The step that installs and starts them; it fails under `CI`, where a machine cannot have one of them. */
  step: Step;
  /** Resolves when their programs have been installed, or could not be: once the step is over. */
  installed: Promise<unknown>;
  /** The settings by which tests find them: once the step is over. */
  env(): Promise<Record<string, string>>;
  stop(): Promise<void>;
}

/** @param signal cuts a start short. */
export function realEngines(ci: boolean, signal: AbortSignal, say: (line: string) => void): RealEngines {
  const { promise: servers, resolve } = Promise.withResolvers<RunningServers | undefined>();

  async function start(): Promise<Outcome> {
    try {
      const started = await startServers({ signal, say: (line) => say(`  ${line}`) });
      resolve(started);
      for (const { engine, reason } of started.missing) say(`- ${engine}: its tests are left out, ${reason}`);
      const failed = ci && started.missing.length > 0;
      return { passed: failed ? 0 : 1, failed: failed ? 1 : 0, skipped: 0, output: 'CI has every engine' };
    } catch (error) {
      resolve(undefined);
      return { passed: 0, failed: 1, skipped: 0, output: error instanceof Error ? error.message : String(error) };
    }
  }

  return {
    step: { name: 'servers', run: start },
    installed: servers,
    async env() {
      const started = await servers;
      return {
        ...(started?.superuserUrl && { TEST_POSTGRES_URL: started.superuserUrl }),
        ...(started?.env.REDIS_URL && { TEST_REDIS_URL: started.env.REDIS_URL }),
        ...(started?.env.KAFKA_BROKERS && { TEST_KAFKA_BROKERS: started.env.KAFKA_BROKERS }),
        ...s3Settings(started?.env),
      };
    },
    async stop() {
      await (await servers)?.stop();
    },
  };
}

/** S3_BUCKET is TEST_S3_BUCKET to tests, and so on. */
function s3Settings(env: Record<string, string> = {}): Record<string, string> {
  const settings = Object.entries(env).filter(([name]) => name.startsWith('S3_'));
  return Object.fromEntries(settings.map(([name, value]) => [`TEST_${name}`, value]));
}
