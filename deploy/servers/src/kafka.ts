import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Engine, Place } from './engine.ts';
import { exec, works } from './exec.ts';
import { askMetadata } from './kafka-metadata.ts';
import type { Tool } from './tool.ts';

const version = '4.3.1';
const copyDependencies = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
const oldestJava = 17;

const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>parley</groupId><artifactId>kafka</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${version}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>
</project>
`;

const kafkaTool: Tool = {
  name: 'kafka',
  version,
  async cannotInstall() {
    return (await noJava()) ?? ((await works('mvn', ['-v'])) ? undefined : 'there is no Maven (mvn)');
  },
  async install({ target, scratch }, signal) {
    writeFileSync(join(scratch, 'pom.xml'), pom);
    const options = [
      `-DoutputDirectory=${target}`,
      '-DincludeScope=runtime',
      `-Dmaven.repo.local=${scratch}/repository`,
    ];
    await exec('mvn', ['-q', '-B', '-f', join(scratch, 'pom.xml'), copyDependencies, ...options], { signal });
  },
};

/** One Kafka node that is broker and controller at once. */
export const kafka: Engine = {
  name: 'kafka',
  title: 'Kafka',
  tool: kafkaTool,
  version: () => version,
  ports: ['main', 'controller'],
  makeSecrets: () => ({ clusterId: newClusterId() }),
  refusesRoot: false,
  stopSignal: 'SIGTERM',
  setting: 'KAFKA_BROKERS',
  settingNames: ['KAFKA_BROKERS'],
  settings: ({ ports }) => ({ KAFKA_BROKERS: `127.0.0.1:${ports.main}` }),
  cannotRun: noJava,

  async prepare(place, signal) {
    const data = join(place.home, 'data');
    if (!existsSync(data)) {
      const building = join(place.home, 'data.building');
      const file = join(place.home, 'format.properties');
      rmSync(building, { recursive: true, force: true });
      mkdirSync(building, { mode: 0o700 });
      writeFileSync(file, serverProperties(place, building));
      const format = ['kafka.tools.StorageTool', 'format', '-t', place.secrets.clusterId ?? '', '-c', file];
      await exec('java', [...javaOptions(place.installed), ...format], { signal });
      renameSync(building, data);
    }
    writeFileSync(join(place.home, 'server.properties'), serverProperties(place, data));
  },

  command: ({ home, installed }) => ({
    command: 'java',
    args: [...javaOptions(installed), 'kafka.Kafka', join(home, 'server.properties')],
    ...(process.env.JAVA_HOME && { env: { JAVA_HOME: process.env.JAVA_HOME } }),
  }),

  async ask({ ports, secrets }) {
    const { brokers, clusterId } = await askMetadata(ports.main ?? 0);
    if (clusterId !== secrets.clusterId) throw new Error('another cluster answers on its port');
    if (brokers === 0) throw new Error('its broker has not joined yet');
  },
};

async function noJava(): Promise<string | undefined> {
  const text = await exec('java', ['--version']).catch(() => '');
  const found = Number(/^\S+ (\d+)/.exec(text)?.[1] ?? 0);
  if (found >= oldestJava) return undefined;
  return found === 0 ? 'there is no Java' : `Java ${found} is too old: it needs ${oldestJava}`;
}

/** The jars in the order of their bytes, the same on every machine: two of them hold classes of the same name. */
export function classPath(folder: string, files: string[]): string {
  return files
    .filter((file) => file.endsWith('.jar'))
    .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map((file) => join(folder, file))
    .join(':');
}

function javaOptions(installed: string): string[] {
  const heap = ['-Xms32m', '-Xmx256m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-XX:-UsePerfData'];
  const log = '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn';
  return [...heap, log, '-cp', classPath(installed, readdirSync(installed))];
}

/** Small buffers, one replica of everything, and a broker that is missed after 3 s rather than 9. */
export function serverProperties({ ports }: Place, dataFolder: string): string {
  const replicated = {
    'default.replication.factor': 1,
    'min.insync.replicas': 1,
    'offsets.topic.replication.factor': 1,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'transaction.state.log.num.partitions': 4,
    'share.coordinator.state.topic.replication.factor': 1,
    'share.coordinator.state.topic.min.isr': 1,
  };
  const properties = {
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${ports.controller}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://127.0.0.1:${ports.main},CONTROLLER://127.0.0.1:${ports.controller}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${ports.main}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'inter.broker.listener.name': 'PLAINTEXT',
    'log.dirs': dataFolder.replaceAll('\\', '\\\\'),
    'auto.create.topics.enable': false,
    ...replicated,
    'group.initial.rebalance.delay.ms': 0,
    'log.cleaner.dedupe.buffer.size': 2_097_152,
    'num.network.threads': 2,
    'num.io.threads': 4,
    'background.threads': 2,
    'broker.heartbeat.interval.ms': 1_000,
    'broker.session.timeout.ms': 3_000,
    'metadata.max.idle.interval.ms': 5_000,
  };
  return `${Object.entries(properties)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')}\n`;
}

/** 16 random bytes; one that begins with a dash would be taken for an option. */
function newClusterId(): string {
  const id = randomBytes(16).toString('base64url');
  return id.startsWith('-') ? newClusterId() : id;
}
