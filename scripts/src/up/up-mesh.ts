import { once } from 'node:events';
import { join } from 'node:path';
import { migrateAll } from '@parley/commands/migrate-all';
import { topicsCommand } from '@parley/commands/topics-command';
import { lockFolder } from '@parley/embedded/embedded-lock';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { poolSizeSetting } from '@parley/kernel/settings/shared-settings';
import { publishAddresses } from '@parley/local/addresses-file';
import { withKeys } from '@parley/local/keys';
import { embeddingsOf, readMeshSettings } from '@parley/local/mesh-settings';
import { Logs, shortLine } from '@parley/mesh/logs';
import { startMeshServers } from '@parley/mesh/mesh-servers';
import { startProcessMesh } from '@parley/mesh/process-mesh';
import { meshAddresses } from '@parley/mesh/replicas';
import { foldersOf } from '@parley/servers/folders';
import { isFree } from '@parley/servers/ports';
import { schemas, topics } from '@parley/units';
import { publicPortSetting, voicePortSetting } from '@parley/units/settings';
import { banner, unknownRow } from './banner.ts';
import { prepareDataFolder, shown } from './data-folder.ts';
import { demoPage } from './demo-page.ts';
import { withPublicUrls } from './public-urls.ts';

/**
 * Starts real servers and every unit as separate processes, prints how to use them, and stops all on Ctrl-C or SIGTERM.
 * @param showLogs shows every log line on the terminal, too.
 * @throws Error if the start or the stop fails; all processes have then been stopped.
 */
export async function upMesh(env: NodeJS.ProcessEnv, dataFolder: string, showLogs: boolean): Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let kill = () => {};
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (signal.aborted) kill();
      stopping.abort(new Error(`${name} before it was up; all is stopped`));
    });
  }
  const folder = join(dataFolder, 'mesh');
  for (const each of [dataFolder, folder]) prepareDataFolder(each);

  await using stack = new AsyncDisposableStack(); // closed in reverse order
  const lock = lockFolder(folder, '', () => undefined);
  stack.defer(() => lock.release());
  const onLine = (name: string, line: string) => void process.stdout.write(`${shortLine(name, line)}\n`);
  const logs = new Logs({ folder: join(folder, 'logs'), onLine: showLogs ? onLine : undefined });
  stack.defer(() => logs.close());
  const say = (text: string) => {
    logs.info(text);
    if (!showLogs) process.stdout.write(`parley: ${text}\n`);
  };

  const { publicPort, voicePort, poolSize } = readSettings(env, {
    publicPort: publicPortSetting,
    voicePort: voicePortSetting,
    poolSize: poolSizeSetting,
  });
  for (const port of [publicPort, voicePort]) {
    if (port !== 0 && !(await isFree(port))) throw new Error(`Port ${port} on 127.0.0.1 is taken by another program.`);
  }
  const given: Environment = { ...(await withKeys(withPublicUrls(env), dataFolder)), PARLEY_DATA_DIR: dataFolder };
  const { models, unknown } = readMeshSettings(given);

  const folders = { ...foldersOf(env), ...(!env.PARLEY_SERVERS_DIR && { data: join(dataFolder, 'servers') }) };
  const servers = await startMeshServers({ folders, env, only: ['postgres', 'redis', 'kafka', 's3'], signal, say });
  stack.defer(() => servers.stop());
  const { LOG_FILE: _, ...settings }: Environment = { ...given, ...servers.env };
  signal.throwIfAborted();
  const note = (line: string) => logs.info(line);
  await Promise.all([migrateAll(schemas, settings, note), topicsCommand(topics, settings, note)]);

  const mesh = await startProcessMesh({ env: settings, publicPort, voicePort, logs, say, signal });
  kill = mesh.kill;
  stack.defer(mesh.stop);
  const addresses = meshAddresses(mesh.replicas); // read by `scripts/rpc`
  addresses.announce('mesh', 'public', `http://127.0.0.1:${mesh.publicPort}`);
  const published = publishAddresses(dataFolder, addresses);
  await published.start();
  stack.defer(() => published.stop());

  const demo = demoPage(given, dataFolder, {
    publicUrl: () => `http://127.0.0.1:${mesh.publicPort}`,
    voiceUrl: () => `http://127.0.0.1:${mesh.voicePort}`,
  });
  await demo.start();
  stack.defer(() => demo.stop());

  const gateways = mesh.replicas.flatMap(({ unit, ports }) => (unit === 'gateway' ? (ports.public ?? []) : []));
  const withSchema = mesh.replicas.filter(({ unit }) => schemas.some(({ name }) => name === unit)).length;
  const rows: [string, string][] = [
    ['gateways', `${gateways.map((each) => `http://127.0.0.1:${each}/graphql`).join('  ')}   (each alone)`],
    ['voice', `http://localhost:${mesh.voicePort}`],
    ...demo.rows(),
    ...servers.shown,
    ['connections', `at most ${withSchema * poolSize} to PostgreSQL: ${withSchema} processes, ${poolSize} each`],
    ['embeddings', embeddingsOf(given)],
    ['processes', mesh.processes.map(({ name }) => name).join(' ')],
    ['data', shown(dataFolder)],
    ['logs', `${shown(logs.folder)}/<process>.log`],
    ['all logs', `tail -f ${shown(logs.joinedFile)}`],
    ...unknownRow(unknown),
  ];
  process.stdout.write(
    banner(`http://localhost:${mesh.publicPort}`, models, rows, ` as ${mesh.processes.length} processes`),
  );
  if (!signal.aborted) await once(signal, 'abort');
}
