import type { ModelDescription } from '@parley/local/mesh-settings';
import type { MeshServers } from '@parley/mesh/mesh-servers';
import { talkHint } from './banner.ts';

export interface MeshBannerFacts {
  /** How long the start took. */
  seconds: number;
  /** The address in front of both gateways. */
  url: string;
  /** `host:port` of each gateway. */
  gateways: string[];
  servers: MeshServers['shown'];
  /** How many processes keep a schema, and how many connections each opens at most. */
  databaseProcesses: number;
  poolSize: number;
  models: ModelDescription[];
  /** Names of the processes, in the order in which they were started. */
  processes: string[];
  dataFolder: string;
  /** One log of each process. */
  logFolder: string;
  /** All of them together. */
  joinedLog: string;
}

/** What a person needs to know once all processes are ready. */
export function meshBanner(facts: MeshBannerFacts): string {
  const { url, models } = facts;
  const rows: [string, string][] = [
    ['GraphQL', `${url}/graphql   (header x-app-platform: customer)`],
    ['subscriptions', `${url.replace(/^http/, 'ws')}/graphql   (graphql-ws)`],
    ['gateways', `${facts.gateways.map((address) => `http://${address}/graphql`).join('  ')}   (each alone)`],
    ...facts.servers,
    [
      'connections',
      `at most ${facts.databaseProcesses * facts.poolSize} to PostgreSQL: ${facts.databaseProcesses} processes, ${facts.poolSize} each`,
    ],
    ['models', models.map(({ providerId, modelId }) => `${providerId} (${modelId})`).join(', ')],
    ['processes', facts.processes.join(' ')],
    ['data', facts.dataFolder],
    ['logs', `${facts.logFolder}/<process>.log`],
    ['all logs', `tail -f ${facts.joinedLog}`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const offline = models.every((model) => model.offline)
    ? '\nNo model is configured: the offline one answers, which is no language model.\n'
    : '';
  return [
    `\nParley is up as ${facts.processes.length} processes, after ${facts.seconds.toFixed(1)} s.\n`,
    ...rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`),
    offline,
    talkHint(`${url}/graphql`),
    'Stop with Ctrl-C.\n\n',
  ].join('\n');
}
