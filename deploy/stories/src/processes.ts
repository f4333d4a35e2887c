import { makeTopics } from '@parley/events/kafka-topics';
import type { Environment } from '@parley/kernel/config';
import { schemas } from '@parley/local/schemas';
import { topics } from '@parley/local/topics';
import { Logs } from '@parley/mesh/logs';
import { type ProcessMeshOptions, startProcessMesh } from '@parley/mesh/process-mesh';
import { openChecker } from './invariants.ts';
import type { UnitAddresses } from './mesh.ts';

export interface ProcessesOptions extends Partial<Pick<ProcessMeshOptions, 'wire' | 'tap' | 'plan' | 'backoffMs'>> {
  /** Its engines, its keys, and whatever else it is to be configured with. */
  settings: Environment;
  logFolder: string;
  /** Cuts a start short. */
  signal: AbortSignal;
}

/**
 * Starts every unit as processes of their own on engines that are empty yet. They end with this process, however that ends.
 * @throws Error that names who failed where they do not come up; then nothing of them is left.
 */
export async function startProcesses({ settings, logFolder, signal, ...more }: ProcessesOptions) {
  await using closers = new AsyncDisposableStack();
  const checker = openChecker(settings);
  closers.defer(() => checker.close());
  const migrate = async () => {
    for (const { name } of schemas) await checker.database(name).migrate();
  };
  const { KAFKA_BROKERS: brokers } = settings;
  await Promise.all([migrate(), brokers && makeTopics(topics, { brokers: brokers.split(',') })]);
  const logs = new Logs({ folder: logFolder });
  closers.defer(() => logs.close());
  const said: string[] = [];
  const say = (text: string) => {
    said.push(text);
    logs.tell(text);
  };
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...settings };
  const mesh = await startProcessMesh({ ...more, env, publicPort: 0, logs, say, signal });
  closers.defer(mesh.stop);
  const addressesOf = (ports: object) =>
    Object.entries(ports).map(([door, port]) => [door, `${door === 'rpc' ? '' : 'http://'}127.0.0.1:${port}`]);
  const named = mesh.replicas.map(({ name, ports }) => [name, Object.fromEntries(addressesOf(ports))]);
  const units: UnitAddresses = Object.fromEntries(named);
  const started = closers.move();
  return {
    ...mesh,
    units,
    checker,
    logs,
    /** What its supervisor says: who has ended, who is back. */
    said: said as readonly string[],
    /** Resolves when all of it is gone. @returns which processes ended by themselves, or did not stop in time. */
    async stop(): Promise<string[]> {
      await started.disposeAsync();
      return said.filter((line) => / has ended | did not stop /u.test(line));
    },
  };
}
