import { migrateAll } from '@parley/commands/migrate-all';
import { topicsCommand } from '@parley/commands/topics-command';
import type { Environment } from '@parley/kernel/settings/config';
import { Logs } from '@parley/mesh/logs';
import { type ProcessMeshOptions, startProcessMesh } from '@parley/mesh/process-mesh';
import { meshAddresses } from '@parley/mesh/replicas';
import { schemas, topics } from '@parley/units';
import { openChecker } from './invariants.ts';

export interface ProcessesOptions extends Partial<Pick<ProcessMeshOptions, 'wire' | 'tap' | 'plan' | 'backoffMs'>> {
  /** The mesh's environment, with engines and keys. */
  settings: Environment;
  logFolder: string;
  /** Cancels the start. */
  signal: AbortSignal;
}

/**
 * Starts every unit as separate processes on empty engines. The processes end with this process, even if it is killed.
 * @throws Error that names the process whose start failed; all processes are then stopped
 */
export async function startProcesses({ settings, logFolder, signal, ...more }: ProcessesOptions) {
  await using closers = new AsyncDisposableStack();
  const checker = openChecker(settings);
  closers.defer(() => checker.close());
  const logs = new Logs({ folder: logFolder });
  closers.defer(() => logs.close());
  const note = (line: string) => logs.info(line);
  const makingTopics = settings.KAFKA_BROKERS && topicsCommand(topics, settings, note);
  await Promise.all([migrateAll(schemas, settings, note), makingTopics]);
  const said: string[] = [];
  const say = (text: string) => {
    said.push(text);
    logs.info(text);
  };
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...settings };
  const mesh = await startProcessMesh({ ...more, env, publicPort: 0, logs, say, signal });
  closers.defer(mesh.stop);
  const started = closers.move();
  return {
    ...mesh,
    units: meshAddresses(mesh.replicas).announced(),
    checker,
    logs,
    /** Messages of the supervisor: which process has ended, and which runs again. */
    said: said as readonly string[],
    /** Stops all processes. @returns the messages about processes that ended by themselves or did not stop in time. */
    async stop(): Promise<string[]> {
      await started.disposeAsync();
      return said.filter((line) => / has ended | did not stop /u.test(line));
    },
  };
}
